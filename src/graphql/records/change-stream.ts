/**
 * What one subscriber is told of a record's rows: those it may see, as it may see them. Source: decisions, Small print:
 * GraphQL; docs/graphql.md, Subscriptions.
 */
import { HttpError } from '../../errors/http-error.js'
import type { Watcher } from '../../records/changes/change-feed.js'
import type { ChangeEvent, PastRow, RowChanges } from '../../records/changes/changes.js'
import type { Later } from '../../core/later.js'
import type { Condition } from '../../records/filters/condition.js'
import type { Id } from '../../records/filters/list-options.js'
import type { Column } from '../../records/model/table.js'
import type { Caller } from '../../records/policy/caller.js'
import { policyOf } from '../../records/policy/record-policy.js'
import { callerOf } from '../caller.js'
import { graphqlCodes } from '../error-codes.js'
import type { RecordModel } from './model.js'
import { QuestionReader } from './question.js'
import { columnsOf, hadMatched, ownPart } from './read-past.js'
import type { Instance } from './read-rows.js'
import { resolveOne, type RecordServices } from './resolve-records.js'

/** A change as its fields are read from; `record` is null once it is deleted. */
export interface Told {
  readonly event: ChangeEvent
  readonly id: Id
  readonly record: Instance | null
}

/** What a subscriber gets: a change, or why there is none. */
export type TellingOrFailure = { readonly told: Told } | { readonly failure: unknown }

/** Rows that wait for a subscriber. Beyond, it is told that some are lost, and they are let go. */
const mostWaiting = 1000

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

export class ChangeStream implements AsyncIterableIterator<TellingOrFailure>, Watcher {
  readonly columns: readonly Column[]
  readonly #model: RecordModel
  readonly #services: RecordServices
  readonly #context: unknown
  readonly #caller: Caller
  #waiting: RowChanges[] = []
  /** Rows of the first of them that were told already. */
  #taken = 0
  #size = 0
  #wakes: (() => void)[] = []
  #ended = false
  #stop: () => void = () => undefined

  constructor(model: RecordModel, services: RecordServices, context: unknown) {
    this.#model = model
    this.#services = services
    this.#context = context
    this.#caller = callerOf(context)
    this.columns = columnsOf(this.#ownRows(this.#reader()))
  }

  async open(): Promise<void> {
    this.#stop = await this.#services.database().watch(this.#model.type, this)
  }

  tell(changes: RowChanges): void {
    if (this.#ended) return
    if (changes.event === 'lost') {
      if (this.#waiting.at(-1)?.event !== 'lost') this.#waiting.push(changes)
    } else if (this.#size + changes.ids.length > mostWaiting) {
      this.#waiting = [{ ...changes, event: 'lost', ids: [] }]
      this.#size = this.#taken = 0
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

  async next(): Promise<IteratorResult<TellingOrFailure>> {
    for (;;) {
      const one = this.#take()
      if (one === undefined) {
        if (this.#ended) return { value: undefined, done: true }
        await new Promise<void>((resolve) => this.#wakes.push(resolve))
        continue
      }
      const value = await this.#read(one)
      // Whoever left meanwhile is told nothing more; a failure that ended it is the last it hears.
      if (this.#ended && (value === undefined || 'told' in value)) continue
      if (value !== undefined) return { value, done: false }
    }
  }

  return(): Promise<IteratorResult<TellingOrFailure>> {
    this.end()
    return Promise.resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #wake(): void {
    for (const wake of this.#wakes.splice(0)) wake()
  }

  #take(): Waiting | undefined {
    const [changes] = this.#waiting
    if (changes === undefined) return undefined
    const { ids, past } = changes
    const id = ids[this.#taken]
    const one = { changes, id, past: past?.[this.#taken] }
    if (id !== undefined) this.#size--
    if (++this.#taken >= ids.length) {
      this.#waiting.shift()
      this.#taken = 0
    }
    return one
  }

  /** @returns `undefined` for a row that the caller may not see, or that is gone again */
  async #read({ changes, id, past }: Waiting): Promise<TellingOrFailure | undefined> {
    if (hasExpired(this.#caller)) {
      this.end()
      return { failure: new HttpError(401, 'The token has expired.') }
    }
    const { event } = changes
    if (event === 'lost' || id === undefined) return { failure: lost() }
    try {
      if (event === 'deleted') return await this.#readDeleted(id, past)
      const record = await this.#readRow(changes, id)
      return record === null ? undefined : { told: { event, id, record } }
    } catch (failure) {
      return { failure }
    }
  }

  /** Where everybody sees the same rows, one reading does for all who are told. */
  #readRow(changes: RowChanges, id: Id): Later<Instance | null> {
    const read = (): Later<Instance | null> =>
      resolveOne(this.#model, this.#services, id, this.#context)
    if (policyOf(this.#model.table).hasRows) return read()
    let ofChanges = readings.get(changes)
    if (ofChanges === undefined)
      readings.set(changes, (ofChanges = new Map<Id, Later<Instance | null>>()))
    const known = ofChanges.get(id)
    if (known !== undefined) return known
    const reading = read()
    ofChanges.set(id, reading)
    return reading
  }

  async #readDeleted(id: Id, past: PastRow | undefined): Promise<TellingOrFailure | undefined> {
    const reader = this.#reader()
    const condition = this.#ownRows(reader)
    const told: Told = { event: 'deleted', id, record: null }
    if (condition === undefined) return { told }
    const matched = await hadMatched(past, condition, reader, this.#services.database())
    if (matched === undefined) return { failure: lost() }
    return matched ? { told } : undefined
  }

  /** The caller's rows as far as columns of the record itself say them. */
  #ownRows(reader: QuestionReader): Condition | undefined {
    const rows = reader.rows(this.#model.table)
    return rows && ownPart(rows)
  }

  #reader(): QuestionReader {
    const { database, listMax } = this.#services
    return new QuestionReader({ database: database(), caller: this.#caller, listMax })
  }
}

const readings = new WeakMap<RowChanges, Map<Id, Later<Instance | null>>>()

interface Waiting {
  readonly changes: RowChanges
  readonly id: Id | undefined
  readonly past: PastRow | undefined
}

/** Claims say in seconds since 1970 how long they hold. */
function hasExpired({ user }: Caller): boolean {
  return typeof user?.exp === 'number' && user.exp * 1000 <= Date.now()
}

function lost(): HttpError {
  const message = 'Some changes cannot be told any more. Ask again for what you show.'
  return new HttpError(409, message, { code: graphqlCodes.lost })
}
