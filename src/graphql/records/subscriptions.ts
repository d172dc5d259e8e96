/**
 * Declares the subscription to the changes of a record, and opens its streams. A stream contains only rows that the
 * subscriber may see. Source: decisions, GraphQL; docs/graphql.md, Subscriptions.
 */

import { arrangeValues, writeStatement } from '../../sql/write-statement.js'
import type { PastRow, ChangeEvent, RowChanges } from '../../records/changes/changes.js'
import { type MaybePromise, after, isThenable } from '../../core/maybe-promise.js'
import { columnsOfLeaf, leavesOf } from '../../sql/condition.js'
import type { Condition, Table, Instance } from '../../records/model/table.js'
import type { Source } from '../../records/statements/source.js'
import type { Column } from '../../engines/contract/table.js'
import { QueryReader } from './query-reader.js'
import { HttpError } from '../../errors/http-error.js'
import type { Watcher } from '../../records/changes/change-feed.js'
import type { Id } from '../../records/filters/list-options.js'
import { checkShard } from '../../records/statements/shard.js'
import type { Caller } from '../../records/rights/caller.js'
import { callerOf } from '../operation-caller.js'
import { graphqlCodes } from '../errors.js'
import { subscriberSlots } from '../open-streams.js'
import type { RecordModel } from './model.js'
import { readOne, type RecordServices } from './resolve-records.js'
import { readShared, shareBelow } from './shared-reads.js'
import type { GraphqlField, TypeDeclaration } from '../declarations.js'

/** The columns of the record's own table that a condition reads. */
function columnsOf(condition: Condition | undefined): readonly Column[] {
  const leaves = condition === undefined ? [] : leavesOf(condition)
  return [...new Set(leaves.flatMap(columnsOfLeaf))]
}

/**
 * Weakens a condition so that it needs only columns of the record's own table: every row that matches the result
 * matches the complete condition. Rows of other tables may have changed or been deleted in the meantime.
 *
 * @param isNegated within a `not`
 */
function weakenToOwnColumns(condition: Condition, isNegated = false): Condition {
  switch (condition.kind) {
    case 'all':
    case 'any': {
      const parts = condition.parts.map((part) => weakenToOwnColumns(part, isNegated))
      return { ...condition, parts }
    }
    case 'not':
      return { ...condition, part: weakenToOwnColumns(condition.part, !isNegated) }
    case 'related':
    // A search finds only existing rows.
    case 'search':
      return { kind: isNegated ? 'all' : 'any', parts: [] }
    default:
      return condition
  }
}

/** The value of a condition without columns. */
function isAlwaysTrue(condition: Condition): boolean {
  if (condition.kind === 'all') return condition.parts.every(isAlwaysTrue)
  if (condition.kind === 'any') return condition.parts.some(isAlwaysTrue)
  return condition.kind === 'not' && !isAlwaysTrue(condition.part)
}

/**
 * Checks whether a deleted row matched a condition, by the values that it had.
 *
 * @param condition created by `reader`, which has its values
 * @returns `undefined` if not all values are known
 */
function hadMatched(
  past: PastRow | undefined,
  condition: Condition,
  reader: QueryReader,
  source: Source,
  table: Table,
): MaybePromise<boolean | undefined> {
  const columns = columnsOf(condition)
  if (columns.length === 0) return isAlwaysTrue(condition)
  const hasValues = columns.every(
    ({ name, storage }) => past?.[name] !== undefined && storage !== 'bytes' && storage !== 'json',
  )
  if (past === undefined || !hasValues) return undefined
  const slots = new Map(
    columns.map((column) => [column, reader.values.push(past[column.name]) - 1] as const),
  )
  const plan = writeStatement(
    { query: 'match', table, values: slots, where: condition },
    source.context.dialect,
  )
  const found = source.runner().run(plan.statement, arrangeValues(plan, reader.values), 'all')
  return after(found, ({ rows }) => rows.length > 0)
}

/** A change, the parent value of its GraphQL fields. `record` is null after a deletion. */
interface RecordChange {
  readonly event: ChangeEvent
  readonly id: Id
  readonly record: Instance | null
}

/** An event for a subscriber: a change, or the error. */
type ChangeOrFailure = { readonly change: RecordChange } | { readonly failure: unknown }

/**
 * Opens the stream of a record's changes.
 *
 * @throws {HttpError} 503 if the database cannot report changes of other processes
 */
async function openChanges(
  model: RecordModel,
  services: RecordServices,
  context: unknown,
): Promise<ChangeStream> {
  const stream = new ChangeStream(model, services, context)
  await stream.open()
  return stream
}

class ChangeStream implements AsyncIterableIterator<ChangeOrFailure>, Watcher {
  readonly columns: readonly Column[]
  readonly #model: RecordModel
  readonly #services: RecordServices
  readonly #context: unknown
  readonly #caller: Caller
  #waiting: RowChanges[] = []
  /** The number of rows of the first element of `#waiting` that were taken already. */
  #takenRows = 0
  /** The number of rows in `#waiting` that were not taken yet. */
  #waitingRows = 0
  #wakeCallbacks: (() => void)[] = []
  #ended = false
  #stop: () => void = () => undefined

  constructor(model: RecordModel, services: RecordServices, context: unknown) {
    this.#model = model
    this.#services = services
    this.#context = context
    this.#caller = callerOf(context)
    const ownRows = this.#ownRows(this.#reader())
    // A changed row is read by its key, in the shard of the caller's row filter.
    checkShard(model.table, ownRows)
    this.columns = columnsOf(ownRows)
  }

  async open(): Promise<void> {
    this.#stop = await this.#services.database().watch(this.#model.type, this)
  }

  onChanges(changes: RowChanges): void {
    if (this.#ended) return
    if (changes.event === 'lost') {
      if (this.#waiting.at(-1)?.event !== 'lost') this.#waiting.push(changes)
    } else if (this.#waitingRows + changes.ids.length > this.#services.maxEvents()) {
      this.#waiting = [{ ...changes, event: 'lost', ids: [] }]
      this.#waitingRows = this.#takenRows = 0
    } else {
      this.#waiting.push(changes)
      this.#waitingRows += changes.ids.length
    }
    this.#wake()
  }

  end(): void {
    this.#ended = true
    this.#waiting = []
    this.#stop()
    this.#wake()
  }

  async next(): Promise<IteratorResult<ChangeOrFailure>> {
    for (;;) {
      if (this.#waiting.length > 0) await subscriberSlots.take()
      const waitingChange = this.#take()
      if (waitingChange === undefined) {
        if (this.#ended) return { value: undefined, done: true }
        await new Promise<void>((resolve) => this.#wakeCallbacks.push(resolve))
        continue
      }
      const value = await this.#read(waitingChange)
      // After the end, only the failure that ended the stream is still sent.
      if (this.#ended && (value === undefined || 'change' in value)) continue
      if (value !== undefined) return { value, done: false }
    }
  }

  return(): Promise<IteratorResult<ChangeOrFailure>> {
    this.end()
    return Promise.resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #wake(): void {
    for (const wake of this.#wakeCallbacks.splice(0)) wake()
  }

  #take(): WaitingChange | undefined {
    const [changes] = this.#waiting
    if (changes === undefined) return undefined
    const { ids, past } = changes
    const id = ids[this.#takenRows]
    const waitingChange = { changes, id, past: past?.[this.#takenRows] }
    if (id !== undefined) this.#waitingRows--
    if (++this.#takenRows >= ids.length) {
      this.#waiting.shift()
      this.#takenRows = 0
    }
    return waitingChange
  }

  /** @returns `undefined` if the caller may not see the row, or if it no longer exists */
  async #read({ changes, id, past }: WaitingChange): Promise<ChangeOrFailure | undefined> {
    if (hasExpired(this.#caller, this.#services.now())) {
      this.end()
      return { failure: new HttpError(401, 'The token has expired.') }
    }
    const { event } = changes
    if (event === 'lost' || id === undefined) return { failure: eventsLost() }
    try {
      if (event === 'deleted') return await this.#readDeleted(changes, id, past)
      const record = await this.#readOnce(changes, id, (reader) =>
        after(readOne(this.#model, this.#services.database(), reader, id), (row) => {
          if (row !== null) shareBelow(changes, row)
          return row
        }),
      )
      return record === null ? undefined : { change: { event, id, record } }
    } catch (failure) {
      return { failure }
    }
  }

  /**
   * Subscribers that see the same rows share one read. It does not belong to the request of one of them, which may end
   * earlier.
   */
  async #readOnce<T>(
    changes: RowChanges,
    id: Id,
    read: (reader: QueryReader) => MaybePromise<T>,
  ): Promise<T> {
    const reader = this.#reader()
    // The row filter gives the reader the key and the values that identify it.
    reader.rowFilter(this.#model.table)
    const reading = readShared(changes, id, reader, () => read(this.#reader()))
    if (!isThenable(reading)) return reading
    const value = await reading
    // All subscribers that waited for the read continue at the same time.
    await subscriberSlots.take()
    return value
  }

  async #readDeleted(
    changes: RowChanges,
    id: Id,
    past: PastRow | undefined,
  ): Promise<ChangeOrFailure | undefined> {
    const change: RecordChange = { event: 'deleted', id, record: null }
    const matched = await this.#readOnce(changes, id, (reader) => {
      const condition = this.#ownRows(reader)
      return (
        condition === undefined ||
        hadMatched(past, condition, reader, this.#services.database(), changes.table)
      )
    })
    if (matched === undefined) return { failure: eventsLost() }
    return matched ? { change } : undefined
  }

  /** The caller's row filter, weakened to columns of the record itself. */
  #ownRows(reader: QueryReader): Condition | undefined {
    const rowFilter = reader.rowFilter(this.#model.table)
    return rowFilter && weakenToOwnColumns(rowFilter)
  }

  #reader(): QueryReader {
    const { database, listMax } = this.#services
    return new QueryReader({ database: database(), caller: this.#caller, listMax })
  }
}

interface WaitingChange {
  readonly changes: RowChanges
  readonly id: Id | undefined
  readonly past: PastRow | undefined
}

/** `exp` is in seconds since 1970. */
function hasExpired({ user }: Caller, now: number): boolean {
  return typeof user?.exp === 'number' && user.exp * 1000 <= now
}

function eventsLost(): HttpError {
  const message = 'Some changes were lost. Reload the data.'
  return new HttpError(409, message, { code: graphqlCodes.lost })
}

/** The access rule is the rule for reading the record. */
export function declareSubscription(
  model: RecordModel,
  services: RecordServices,
): [string, GraphqlField] {
  const { name, singular, access } = model
  const field: GraphqlField = {
    type: `${name}Change`,
    access,
    description: `Sends an event for every ${name} that is created, updated or deleted, if the caller may see it.`,
    subscribe: (_root, _args, context) => openChanges(model, services, context),
    resolve: (event) => {
      const change = event as ChangeOrFailure
      if ('change' in change) return change.change
      throw change.failure
    },
  }
  return [`${singular}Changed`, field]
}

/**
 * ```graphql
 * type ProductChange { event: ChangeEvent!  id: ID!  product: Product }
 * ```
 */
export function declareChange({ name, singular, ids }: RecordModel): [string, TypeDeclaration] {
  const read = (type: string, read: (change: RecordChange) => unknown): GraphqlField => ({
    type,
    resolve: (change) => read(change as RecordChange),
  })
  const fields = {
    event: read('ChangeEvent!', ({ event }) => event),
    id: read('ID!', ({ id }) => ids.write(id)),
    // The records `Event` and `Id` would otherwise collide with the fields above.
    [singular === 'event' || singular === 'id' ? `${singular}Record` : singular]: {
      ...read(name, ({ record }) => record),
      description: 'The current record. Null after a deletion.',
    },
  }
  const description = `A change of a ${name}.`
  return [`${name}Change`, { kind: 'object', fields, description }]
}

export const changeEvent: TypeDeclaration = {
  kind: 'enum',
  values: { created: 'created', updated: 'updated', deleted: 'deleted' },
  meanings: {
    created: 'The record was created.',
    updated: 'The record was updated.',
    deleted: 'The record was deleted.',
  },
  description: 'The kind of a change.',
}
