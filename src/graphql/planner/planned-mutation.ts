/** The plan of a generated mutation. It prepares the statement for its result before it writes anything. */
import { arrangeValues } from '../../sql/write-statement.js'
import { equals } from '../../sql/condition.js'
import { type MaybePromise, after, attempt } from '../../core/maybe-promise.js'
import { HttpError } from '../../errors/http-error.js'
import { toUnavailable } from '../../records/statements/client-errors.js'
import { callerOf, writingOf } from '../caller.js'
import type { BatchablePlan, MutationBatch } from '../planner-contract.js'
import { outputOf, type RecordServices } from '../records/resolve-records.js'
import type { RecordModel } from '../records/model.js'
import type { Instance } from '../records/read-rows.js'
import { RecordWriter } from '../records/write-records.js'
import { graphqlLibrary } from '../library.js'
import type { Variables } from '../outcome.js'
import type { ArgumentSource } from './compile-arguments.js'
import type { Preparation } from './planned-query.js'
import { formOf, type Entry, type ObjectSelection } from './selection.js'

interface Parts {
  readonly kind: 'create' | 'update' | 'delete'
  readonly model: RecordModel
  readonly args: ArgumentSource
  /** The selection of the written record; undefined for deletions. */
  readonly object: ObjectSelection | undefined
  readonly preparation: Preparation
  readonly services: RecordServices
}

export class PlannedMutation implements BatchablePlan {
  readonly #parts: Parts
  /** Writes the result from the record in memory, if the selection has only its own columns. */
  readonly #fromRecord: ((record: Instance) => string) | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.#fromRecord = parts.object && compileWriter(parts.object.entries)
  }

  run(context: unknown, variables: Variables): MaybePromise<string | undefined> {
    const { model, args, kind, preparation, services } = this.#parts
    const caller = callerOf(context)
    if (!preparation.admits(caller)) return undefined
    const values = args.read(variables)
    const writer = new RecordWriter(services.database(), caller)
    if (kind === 'delete')
      return after(writer.delete(model, values.id as string, values.expectedVersion), String)
    const toResult = this.#prepareResult(context, variables)
    if (toResult === undefined) return undefined
    const written =
      kind === 'create'
        ? writer.create(model, values.input)
        : writer.update(model, values.id as string, values.input, values.expectedVersion)
    return after(written, toResult)
  }

  openBatch(context: unknown): MaybePromise<MutationBatch | undefined> {
    const { kind, preparation, services } = this.#parts
    if (kind === 'delete' || this.#fromRecord === undefined) return undefined
    if (!preparation.admits(callerOf(context))) return undefined
    return services.database().pipelinedWrites.open(writingOf(callerOf(context)))
  }

  prepare(
    context: unknown,
    variables: Variables,
  ): (() => MaybePromise<string | undefined>) | undefined {
    const { model, args, kind, preparation, services } = this.#parts
    const toText = this.#fromRecord
    const caller = callerOf(context)
    if (kind === 'delete' || toText === undefined || !preparation.admits(caller)) return undefined
    const { id, input, expectedVersion = null } = args.read(variables)
    if (expectedVersion !== null) return undefined
    const writer = new RecordWriter(services.database(), caller)
    const write =
      kind === 'create'
        ? writer.prepareCreate(model, input)
        : writer.prepareUpdate(model, id as string, input)
    return write && (() => after(write(), toText))
  }

  /** @returns `undefined` if the result will have errors, which graphql-js must report */
  #prepareResult(
    context: unknown,
    variables: Variables,
  ): ((record: Instance) => MaybePromise<string>) | undefined {
    if (this.#fromRecord !== undefined) return this.#fromRecord
    const { model, object, preparation, services } = this.#parts
    if (object === undefined) return undefined
    const source = services.database()
    const { table } = model
    const codec = source.context.codecOf(table).key
    const reader = preparation.reader(source, callerOf(context))
    const slot = reader.values.push(undefined) - 1
    const rows = { table, where: equals(table.key, slot) }
    try {
      const relationQueries = preparation.relationQueries(variables, reader)
      const plan = preparation.statement(source.context, reader.key, () => ({
        query: 'object',
        rows,
        form: formOf(object, relationQueries),
      }))
      return (record) => {
        const values = [...reader.values]
        values[slot] = codec.encode(record[table.key.property])
        const row = attempt(
          () => source.runner().run(plan.statement, arrangeValues(plan, values), 'first'),
          failUnread,
        )
        return after(row, (read) => preparation.textOf(read) ?? failInfinite())
      }
    } catch {
      return undefined
    }
  }
}

/** @returns `undefined` if the selection has more than the record's own columns */
function compileWriter(entries: readonly Entry[]): ((record: Instance) => string) | undefined {
  const writers: ((record: Instance) => string)[] = []
  for (const entry of entries) {
    const write = entryWriter(entry)
    if (write === undefined) return undefined
    writers.push(write)
  }
  return (record) => {
    let text = ''
    for (const write of writers) text += `${text === '' ? '' : ','}${write(record)}`
    return `{${text}}`
  }
}

function entryWriter(entry: Entry): ((record: Instance) => string) | undefined {
  const key = JSON.stringify(entry.key)
  if (entry.kind === 'name') {
    const text = `${key}:${JSON.stringify(entry.name)}`
    return () => text
  }
  if (entry.kind !== 'column') return undefined
  const { form, itemForm, enumeration } = entry.field
  // An unknown value of an enum is an error with a path, which graphql-js must report.
  if (form === 'enum' || itemForm === 'enum' || enumeration !== undefined) return undefined
  const output = outputOf(entry.field, '. The record was written.')
  if (form === 'id') {
    return (record) => {
      const id = output(record) as string | number | null
      return id === null ? `${key}:null` : `${key}:"${String(id)}"`
    }
  }
  return (record) => `${key}:${JSON.stringify(output(record))}`
}

/** Reports to the client that the record was written, although reading the result failed. */
function failUnread(error: unknown): never {
  const unavailable = toUnavailable(error)
  if (!(unavailable instanceof HttpError)) throw unavailable
  throw new HttpError(503, `The record was written. ${unavailable.message}`, {
    code: 'DATABASE_UNAVAILABLE',
    headers: { 'retry-after': '1' },
    cause: error,
  })
}

function failInfinite(): never {
  const { GraphQLError } = graphqlLibrary()
  throw new GraphQLError(
    'Float cannot represent non numeric value: Infinity. The record was written.',
  )
}
