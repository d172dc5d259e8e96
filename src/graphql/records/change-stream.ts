/**
 * The changes of a record that one subscriber gets: rows that it may see, as it may see them. Source: decisions, GraphQL; docs/graphql.md, Subscriptions.
 */

import { arrangeValues, writeStatement } from '../../sql/write-statement.js'
import type { PastRow, ChangeEvent, RowChanges } from '../../records/changes/changes.js'
import { type MaybePromise, after, isThenable } from '../../core/maybe-promise.js'
import { columnsOfLeaf, leavesOf } from '../../sql/condition.js'
import type { Condition } from '../../records/filters/condition.js'
import type { Table } from '../../records/model/table.js'
import type { Source } from '../../records/statements/source.js'
import type { Column } from '../../engines/contract/table.js'
import { QueryReader } from './query-reader.js'
import { HttpError } from '../../errors/http-error.js'
import type { Watcher } from '../../records/changes/change-feed.js'
import type { Id } from '../../records/filters/list-options.js'
import { demandShard } from '../../records/statements/shard.js'
import type { Caller } from '../../records/rights/caller.js'
import { callerOf } from '../caller.js'
import { graphqlCodes } from '../errors.js'
import { subscriberSlots } from '../subscriber-slots.js'
import type { RecordModel } from './model.js'
import type { Instance } from './read-rows.js'
import { readOne, type RecordServices } from './resolve-records.js'
import { readShared, shareBelow } from './shared-reads.js'

/** Asks a row filter about a row that is gone, by what some of its columns held. */

/** The columns of its own table that a condition reads. */
function columnsOf(condition: Condition | undefined): readonly Column[] {
  const leaves = condition === undefined ? [] : leavesOf(condition)
  return [...new Set(leaves.flatMap(columnsOfLeaf))]
}

/**
 * What a condition says by columns of its own table alone: rows that it finds, the whole condition finds too. What stands
 * in other tables may have changed since, or be gone with the row.
 *
 * @param isDenied below a `not`
 */
function localPart(condition: Condition, isDenied = false): Condition {
  switch (condition.kind) {
    case 'all':
    case 'any': {
      const parts = condition.parts.map((part) => localPart(part, isDenied))
      return { ...condition, parts }
    }
    case 'not':
      return { ...condition, part: localPart(condition.part, !isDenied) }
    case 'related':
    // A search is over rows that are there.
    case 'search':
      return { kind: isDenied ? 'all' : 'any', parts: [] }
    default:
      return condition
  }
}

/** Of a condition that reads no column. */
function isAlwaysTrue(condition: Condition): boolean {
  if (condition.kind === 'all') return condition.parts.every(isAlwaysTrue)
  if (condition.kind === 'any') return condition.parts.some(isAlwaysTrue)
  return condition.kind === 'not' && !isAlwaysTrue(condition.part)
}

/**
 * @param condition read by the reader, whose values go with it
 * @returns `undefined` where too little is known of the row
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

/** A change as its fields are read from; `record` is null once it is deleted. */
export interface RecordChange {
  readonly event: ChangeEvent
  readonly id: Id
  readonly record: Instance | null
}

/** What a subscriber gets: a change, or why there is none. */
export type ChangeOrFailure = { readonly change: RecordChange } | { readonly failure: unknown }

/**
 * Opens the stream of a record's changes.
 *
 * @throws {HttpError} 503 where other processes cannot be listened to
 */
export async function openChanges(
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
  /** Rows of the first of them that were told already. */
  #handled = 0
  #size = 0
  #wakeCallbacks: (() => void)[] = []
  #ended = false
  #stop: () => void = () => undefined

  constructor(model: RecordModel, services: RecordServices, context: unknown) {
    this.#model = model
    this.#services = services
    this.#context = context
    this.#caller = callerOf(context)
    const ownRows = this.#ownRows(this.#reader())
    // Each row that changes is read by its key, in the shard that the caller's rows name.
    demandShard(model.table, ownRows)
    this.columns = columnsOf(ownRows)
  }

  async open(): Promise<void> {
    this.#stop = await this.#services.database().watch(this.#model.type, this)
  }

  onChanges(changes: RowChanges): void {
    if (this.#ended) return
    if (changes.event === 'lost') {
      if (this.#waiting.at(-1)?.event !== 'lost') this.#waiting.push(changes)
    } else if (this.#size + changes.ids.length > this.#services.maxEvents()) {
      this.#waiting = [{ ...changes, event: 'lost', ids: [] }]
      this.#size = this.#handled = 0
    } else {
      this.#waiting.push(changes)
      this.#size += changes.ids.length
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
      const one = this.#take()
      if (one === undefined) {
        if (this.#ended) return { value: undefined, done: true }
        await new Promise<void>((resolve) => this.#wakeCallbacks.push(resolve))
        continue
      }
      const value = await this.#read(one)
      // A subscriber that left meanwhile gets nothing more; a failure that ended its stream is its last event.
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

  #take(): Waiting | undefined {
    const [changes] = this.#waiting
    if (changes === undefined) return undefined
    const { ids, past } = changes
    const id = ids[this.#handled]
    const one = { changes, id, past: past?.[this.#handled] }
    if (id !== undefined) this.#size--
    if (++this.#handled >= ids.length) {
      this.#waiting.shift()
      this.#handled = 0
    }
    return one
  }

  /** @returns `undefined` for a row that the caller may not see, or that is gone again */
  async #read({ changes, id, past }: Waiting): Promise<ChangeOrFailure | undefined> {
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

  /** Subscribers that see the same share one read. It belongs to none of their requests, which may end earlier. */
  async #readOnce<T>(
    changes: RowChanges,
    id: Id,
    read: (reader: QueryReader) => MaybePromise<T>,
  ): Promise<T> {
    const reader = this.#reader()
    reader.rows(this.#model.table)
    const reading = readShared(changes, id, reader, () => read(this.#reader()))
    if (!isThenable(reading)) return reading
    const value = await reading
    // All who waited for it go on at this moment.
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

  /** The caller's rows as far as columns of the record itself say them. */
  #ownRows(reader: QueryReader): Condition | undefined {
    const rows = reader.rows(this.#model.table)
    return rows && localPart(rows)
  }

  #reader(): QueryReader {
    const { database, listMax } = this.#services
    return new QueryReader({ database: database(), caller: this.#caller, listMax })
  }
}

interface Waiting {
  readonly changes: RowChanges
  readonly id: Id | undefined
  readonly past: PastRow | undefined
}

/** Claims say in seconds since 1970 how long they hold. */
function hasExpired({ user }: Caller, now: number): boolean {
  return typeof user?.exp === 'number' && user.exp * 1000 <= now
}

function eventsLost(): HttpError {
  const message = 'Some changes cannot be told any more. Ask again for what you show.'
  return new HttpError(409, message, { code: graphqlCodes.lost })
}
