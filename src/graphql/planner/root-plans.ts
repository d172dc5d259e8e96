/** The plans of root fields: of queries and of generated mutations. */
import type { Query } from '../../sql/tree.js'
import { arrangeValues, writeStatement, type Plan } from '../../sql/write-statement.js'
import { settle, type MaybePromise, after, attempt } from '../../core/maybe-promise.js'
import type { Row } from '../../engines/contract/engine.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import { toReadError, toUnavailable } from '../../records/statements/client-errors.js'
import { refusedOfStatement } from '../../records/statements/refused-values.js'
import { BoundedCache } from '../../core/collections.js'
import type { Database } from '../../records/database.js'
import type { RunInSequence } from '../../records/statements/pipelined-writes.js'
import type { RecordsContext } from '../../records/statements/source.js'
import { admitsImmediately, isPendingAccess, type Caller } from '../../records/rights/caller.js'
import { callerOf, writingOf } from '../operation-caller.js'
import type { VariableValues } from '../variables.js'
import type { FieldArguments } from '../declarations.js'
import {
  isRefusal,
  isUnplannable,
  PlanningFailure,
  unplannable,
  type BatchablePlan,
  type PrepareInBatch,
  type RootPlan,
  type Unplannable,
} from '../planner-contract.js'
import { QueryReader } from '../records/query-reader.js'
import { outputOf } from '../records/field-output.js'
import type { RecordServices } from '../records/resolve-records.js'
import type { ArgumentSource } from './compile-arguments.js'
import {
  type SelectionCompiler,
  type RelationQueries,
  selectionOf,
  type SelectedEntry,
  type SelectedNested,
  type SelectedPart,
  type ObjectSelection,
} from './selection.js'
import { textOfRow } from '../../engines/contract/json-sql.js'
import { keyOf } from '../../records/model/record-key.js'
import type { Instance } from '../../records/model/table.js'
import { equals } from '../../sql/condition.js'
import { HttpError } from '../../errors/http-error.js'
import type { RecordModel } from '../records/model.js'
import { readKey } from '../records/row-keys.js'
import { RecordWriter } from '../records/write-records.js'
import { graphqlLibrary } from '../library.js'

/** Builds the query tree of a root field. Called once for each form of its arguments. */
export type RootQuery = (relationQueries: RelationQueries) => Query

/**
 * Reads the arguments of the root field.
 *
 * @returns `undefined` if no row can match
 * @throws {HttpError} 400 `VALIDATION`; 401 or 403 for fields that the caller may not read
 */
export type ReadRoot = (
  args: FieldArguments,
  reader: QueryReader,
  context: RecordsContext,
) => RootQuery | Unplannable | undefined

/** A statement with the values of a run. */
interface Prepared {
  readonly plan: Plan
  readonly values: readonly unknown[]
  /** The version of the tables' sizes for which the plan was made. */
  readonly sizes: number
}

const needsResolverAccess = unplannable(
  'A selected field is refused, or its guard may have to be awaited.',
)
const guardIsAsynchronous = unplannable('A guard of a filter or an order must be awaited.')
const isInfinite = unplannable('JSON cannot represent an infinite number.')
const isInexpressible = unplannable('SQL cannot write a value in the form of clients.')
const isMalformed = unplannable('A stored value is not in the form of its column.')

/** The maximum number of cached statements for one root field: one for each form of filters and orders in variables. */
const maxStatements = 20

/** The steps before a statement runs, for queries and for the results of mutations. */
export class StatementPreparation {
  readonly #compiler: SelectionCompiler
  readonly #services: RecordServices
  readonly #plans = new WeakMap<RecordsContext, BoundedCache<Plan>>()

  constructor(compiler: SelectionCompiler, services: RecordServices) {
    this.#compiler = compiler
    this.#services = services
  }

  /** Whether the arguments of all relations are constant. */
  get isConstant(): boolean {
    return this.#compiler.relations.every(
      (entry) =>
        entry.kind === 'count' || entry.args === undefined || entry.args.constant !== undefined,
    )
  }

  /** Whether the caller may read everything selected. False also if that cannot be decided synchronously. */
  admits(caller: Caller): boolean {
    for (const rule of this.#compiler.accessRules)
      if (!admitsImmediately(rule, caller)) return false
    return true
  }

  /** The JSON text of a result row, unless it contains an infinite number, or a decimal that is none. */
  textOf(row: Row | undefined): string | Unplannable {
    const text = textOfRow(row)
    const { hasFloats, hasDecimals } = this.#compiler
    if (!hasFloats && !hasDecimals) return text
    const { infinity, notANumber } = this.#services.database().context.dialect.json
    if (hasDecimals && notANumber !== undefined && text.includes(notANumber)) return isMalformed
    if (!hasFloats || infinity === undefined) return text
    return mayContain(text, infinity) ? isInfinite : text
  }

  reader(database: Database, caller: Caller): QueryReader {
    return new QueryReader({ database, caller, listMax: this.#services.listMax })
  }

  /** Reads the arguments of all selected relations. Resolvers report invalid ones, once for each row. */
  relationQueries(variables: VariableValues, reader: QueryReader): RelationQueries | Unplannable {
    try {
      return this.#readRelationQueries(variables, reader)
    } catch (error) {
      if (isRefusal(error)) return unplannable(`A relation is refused: ${(error as Error).message}`)
      throw error
    }
  }

  /** @throws {GraphQLError | HttpError} for arguments of the client */
  #readRelationQueries(variables: VariableValues, reader: QueryReader): RelationQueries {
    return this.#compiler.relations.map((entry) => {
      const { target } = entry.relation
      if (entry.kind === 'count' || entry.args === undefined)
        return { where: reader.rowFilter(target.table) }
      const { constant, read } = entry.args
      return reader.list(target, read(variables), constant !== undefined)
    })
  }

  statement(context: RecordsContext, key: string, make: () => Query): Plan {
    let plans = this.#plans.get(context)
    if (plans === undefined)
      this.#plans.set(context, (plans = new BoundedCache<Plan>(maxStatements)))
    return plans.get(key, () => writeStatement(make(), context.dialect))
  }
}

/** Reads the arguments of a run, gets or writes the statement for them, and runs it. */
export class PlannedQuery implements RootPlan {
  readonly kind = 'plan'
  readonly #args: ArgumentSource
  readonly #read: ReadRoot
  readonly #preparation: StatementPreparation
  readonly #services: RecordServices
  readonly #isConstant: boolean
  readonly #ready = new WeakMap<RecordsContext, Prepared>()
  readonly #toText = (row: Row | undefined): string | Unplannable => this.#preparation.textOf(row)

  constructor({
    args,
    read,
    preparation,
    services,
  }: {
    readonly args: ArgumentSource
    readonly read: ReadRoot
    readonly preparation: StatementPreparation
    readonly services: RecordServices
  }) {
    this.#args = args
    this.#read = read
    this.#preparation = preparation
    this.#services = services
    this.#isConstant = args.constant !== undefined && preparation.isConstant
  }

  run(context: unknown, variables: VariableValues): MaybePromise<string | Unplannable> {
    const caller = callerOf(context)
    if (!this.#preparation.admits(caller)) return needsResolverAccess
    const database = this.#services.database()
    const source = database.forClient(caller.request)
    let prepared: Prepared | Unplannable | undefined
    try {
      prepared = this.#prepare(database, caller, variables)
    } catch (error) {
      if (isPendingAccess(error)) return guardIsAsynchronous
      throw isRefusal(error) ? error : new PlanningFailure(error)
    }
    if (prepared === undefined) return 'null'
    if ('reason' in prepared) return prepared
    const { plan, values } = prepared
    return settle(
      () => source.runner().run(plan.statement, values, 'first'),
      this.#toText,
      (error) =>
        rethrowUnlessInexpressible(error, refusedOfStatement(source, plan.statement, values)),
    )
  }

  #prepare(
    database: Database,
    caller: Caller,
    variables: VariableValues,
  ): Prepared | Unplannable | undefined {
    const { context } = database
    const ready = this.#ready.get(context)
    const sizes = database.sizes.version
    if (ready?.sizes === sizes) return ready
    const reader = this.#preparation.reader(database, caller)
    const root = this.#read(this.#args.read(variables), reader, context)
    if (typeof root !== 'function') return root
    const relationQueries = this.#preparation.relationQueries(variables, reader)
    if (isUnplannable(relationQueries)) return relationQueries
    const plan = this.#preparation.statement(context, reader.key, () => root(relationQueries))
    const prepared = { plan, values: arrangeValues(plan, reader.values), sizes }
    // Results that depend on the caller are never cached, because another caller would get the same rows.
    if (this.#isConstant && !reader.isPersonal) this.#ready.set(context, prepared)
    return prepared
  }
}

/** Lets graphql-js run the field again if a value cannot be represented, because it reports the path of the value. */
function rethrowUnlessInexpressible(
  error: unknown,
  refused: ReturnType<typeof refusedOfStatement>,
): Unplannable {
  if (error instanceof EngineError) {
    if (error.kind === 'inexpressible') return isInexpressible
    if (error.kind === 'malformed') return isMalformed
  }
  throw toReadError(error, refused)
}

/** Searches without the first character first, which is many times faster, because few texts contain the rest. */
function mayContain(text: string, infinity: string): boolean {
  return text.includes(infinity.slice(1)) && text.includes(infinity)
}

interface CompiledMutation {
  readonly kind: 'create' | 'update' | 'delete'
  readonly model: RecordModel
  readonly args: ArgumentSource
  /** The selection of the written record; undefined for deletions. */
  readonly object: ObjectSelection | undefined
  readonly preparation: StatementPreparation
  readonly services: RecordServices
}

/** The plan of a generated mutation. It prepares the statement for its result before it writes anything. */
export class PlannedMutation implements BatchablePlan {
  readonly kind = 'plan'
  readonly #compiled: CompiledMutation
  /** Writes the result from the record in memory, if the selection has only its own columns. */
  readonly #fromRecord: ((record: Instance) => string) | undefined

  constructor(compiled: CompiledMutation) {
    this.#compiled = compiled
    this.#fromRecord = compiled.object && compileWriter(compiled.object.entries)
  }

  run(context: unknown, variables: VariableValues): MaybePromise<string | Unplannable> {
    const { model, args, kind, preparation, services } = this.#compiled
    const caller = callerOf(context)
    if (!preparation.admits(caller)) return needsResolverAccess
    const values = args.read(variables)
    const writer = new RecordWriter(services.database(), caller)
    if (kind === 'delete')
      return after(writer.delete(model, readKey(model, values), values.expectedVersion), String)
    const toResult = this.#prepareResult(context, variables)
    if (typeof toResult !== 'function') return toResult
    const written =
      kind === 'create'
        ? writer.create(model, values.input)
        : writer.update(model, readKey(model, values), values.input, values.expectedVersion)
    return after(written, toResult)
  }

  sendBatch(
    context: unknown,
    fill: (run: RunInSequence, prepare: PrepareInBatch) => void,
  ): MaybePromise<void> {
    const { kind, preparation, services } = this.#compiled
    if (kind === 'delete' || this.#fromRecord === undefined) return undefined
    const caller = callerOf(context)
    if (!preparation.admits(caller)) return undefined
    const database = services.database()
    const writer = new RecordWriter(database, caller)
    const prepare: PrepareInBatch = (plan, variables) =>
      plan instanceof PlannedMutation ? plan.#prepare(writer, variables) : undefined
    return database.pipelinedWrites.send((run) => {
      fill(run, prepare)
    }, writingOf(caller))
  }

  #prepare(
    writer: RecordWriter,
    variables: VariableValues,
  ): (() => MaybePromise<string>) | undefined {
    const { model, args, kind, preparation } = this.#compiled
    const toText = this.#fromRecord
    if (kind === 'delete' || toText === undefined) return undefined
    if (!preparation.admits(writer.caller)) return undefined
    const values = args.read(variables)
    const { input, expectedVersion = null } = values
    if (expectedVersion !== null) return undefined
    return kind === 'create'
      ? writer.prepareCreate(model, input, toText)
      : writer.prepareUpdate(model, readKey(model, values), input, toText)
  }

  #prepareResult(
    context: unknown,
    variables: VariableValues,
  ): ((record: Instance) => MaybePromise<string>) | Unplannable {
    if (this.#fromRecord !== undefined) return this.#fromRecord
    const { model, object, preparation, services } = this.#compiled
    if (object === undefined) return unplannable('The mutation returns no record.')
    const source = services.database()
    const { table } = model
    const codec = source.context.codecOf(table).key
    const reader = preparation.reader(source, callerOf(context))
    const slot = reader.values.push(undefined) - 1
    const rows = { table, where: equals(table.key, slot) }
    try {
      const relationQueries = preparation.relationQueries(variables, reader)
      if (isUnplannable(relationQueries)) return relationQueries
      const plan = preparation.statement(source.context, reader.key, () => ({
        query: 'object',
        rows,
        selection: selectionOf(object, relationQueries),
      }))
      return (record) => {
        const values = [...reader.values]
        values[slot] = codec.encode(keyOf(table.key, record))
        const row = attempt(
          () => source.runner().run(plan.statement, arrangeValues(plan, values), 'first'),
          failUnread,
        )
        return after(row, (read) => {
          const text = preparation.textOf(read)
          return typeof text === 'string' ? text : failInfinite()
        })
      }
    } catch (error) {
      throw new PlanningFailure(error)
    }
  }
}

/** @returns `undefined` if the selection has more than the record's own columns */
function compileWriter(
  entries: readonly SelectedEntry[],
): ((record: Instance) => string) | undefined {
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

function entryWriter(entry: SelectedEntry): ((record: Instance) => string) | undefined {
  const key = JSON.stringify(entry.key)
  if (entry.kind === 'name') {
    const text = `${key}:${JSON.stringify(entry.name)}`
    return () => text
  }
  if (entry.kind === 'nested') {
    const output = outputOf(entry.field)
    const pick = compileParts(entry)
    return pick && ((record) => `${key}:${JSON.stringify(pick(output(record)))}`)
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

/** @returns a function that picks the selected parts; `undefined` if graphql-js must write one of them */
function compileParts({
  parts: { isList, entries },
}: SelectedNested): ((value: unknown) => unknown) | undefined {
  const pickers: [key: string, pick: (object: unknown) => unknown][] = []
  for (const entry of entries) {
    const pick = compilePart(entry)
    if (pick === undefined) return undefined
    pickers.push([entry.key, pick])
  }
  const pickOne = (object: unknown): unknown =>
    object === null || object === undefined
      ? null
      : Object.fromEntries(pickers.map(([key, pick]) => [key, pick(object)]))
  return isList ? (list) => (Array.isArray(list) ? list.map(pickOne) : null) : pickOne
}

function compilePart(entry: SelectedPart): ((object: unknown) => unknown) | undefined {
  if (entry.kind === 'name') return () => entry.name
  const output = outputOf(entry.field, '. The record was written.')
  if (entry.kind === 'nested') {
    const pick = compileParts(entry)
    return pick && ((object) => pick(output(object)))
  }
  const { form, enumeration } = entry.field
  if (enumeration !== undefined) return undefined
  return form === 'id' ? (object) => idText(output(object)) : output
}

function idText(id: unknown): string | null {
  return typeof id === 'number' ? String(id) : (id as string | null)
}

/** Reports to the client that the record was written, although reading the result failed. */
function failUnread(error: unknown): never {
  const unavailable = toUnavailable(error)
  if (!(unavailable instanceof HttpError)) throw unavailable
  const message = `The record was written. ${unavailable.message}`
  const headers = { 'retry-after': '1', ...unavailable.headers }
  const code = 'DATABASE_UNAVAILABLE'
  throw unavailable.with({ status: 503, code, message, headers, cause: error })
}

function failInfinite(): never {
  const { GraphQLError } = graphqlLibrary()
  throw new GraphQLError(
    'Float cannot represent non numeric value: Infinity. The record was written.',
  )
}
