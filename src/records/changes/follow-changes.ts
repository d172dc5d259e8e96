/**
 * Follows the changes of all tables, whichever process makes them: `onChange(listener, { everywhere: true })`. Reads the
 * changes of one record as an async iterable: `database.changes(Ticket)`. Source: public API, Records.
 */
import type { Log } from '../../core/log.js'
import type { Class } from '../../metadata/class.js'
import type { Table } from '../model/table.js'
import { declareOptions, type OptionsOf } from '../../options/declare-options.js'
import { option } from '../../options/option.js'
import type { ChangeFeed, Watcher } from './change-feed.js'
import type { Change, RowChanges } from './changes.js'

/**
 * Rows of a class were written, but it is unknown which: the connection to the server was broken, or the reader of
 * `changes` was too slow.
 */
export interface MissedChanges {
  readonly event: 'lost'
  readonly record: Class
  /** The number of unread changes, if it is known. */
  readonly count?: number
}

/**
 * Calls the listener for each change of these tables, in any process.
 *
 * @returns a function that ends it, once no change that is committed from now on can be missed
 */
export async function followAll(
  { feed, log }: Following,
  tables: Iterable<Table>,
  listener: (change: Change | MissedChanges) => void,
): Promise<() => void> {
  const notify = (change: Change | MissedChanges): void => {
    try {
      listener(change)
    } catch (error) {
      log.error({ err: error }, 'a listener to changes failed')
    }
  }
  const watcherOf = ({ type: record }: Table): Watcher => ({
    columns: [],
    onChanges: ({ event, ids }: RowChanges) => {
      if (event === 'lost') notify({ event, record })
      else for (const id of ids) notify({ event, record, id })
    },
    end: () => undefined,
  })
  const stops: (() => void)[] = []
  const stop = (): void => {
    for (const one of stops) one()
  }
  // All tables in parallel, because PostgreSQL needs some time for each until no change can be missed.
  const results = await Promise.allSettled(
    [...tables].map(async (table) => {
      stops.push(await feed.watch(table, watcherOf(table)))
    }),
  )
  const failed = results.find((one) => one.status === 'rejected')
  if (failed === undefined) return stop
  stop()
  throw failed.reason
}

const changesOptions = declareOptions({
  /** Ends the reading. */
  signal: option.any<AbortSignal>(),
  /** Changes of all processes, on PostgreSQL. Default: changes of this process. */
  everywhere: option.flag(),
})

export interface ChangesOptions extends OptionsOf<typeof changesOptions> {}

type ReportedChange = Change | MissedChanges

/** The maximum number of unread changes. */
const maxUnread = 1000

interface Following {
  readonly feed: ChangeFeed
  readonly log: Log
}

/** @param readers gets a function that ends it, while it is open */
export function readChanges(
  following: Following,
  table: Table,
  options: ChangesOptions,
  readers: Set<() => void>,
): AsyncIterableIterator<ReportedChange> {
  changesOptions.check('changes', options)
  const { signal, everywhere = false } = options
  const unread = new UnreadChanges(table.type)
  const addChange = (change: ReportedChange): void => {
    if (change.record === table.type) unread.add(change)
  }
  if (signal?.aborted === true) {
    unread.end()
    return unread
  }
  const end = (): void => {
    unread.end()
  }
  const started = everywhere
    ? followAll(following, [table], addChange)
    : Promise.resolve(following.feed.onChange(addChange))
  unread.follow(started, () => {
    readers.delete(end)
    signal?.removeEventListener('abort', end)
  })
  readers.add(end)
  signal?.addEventListener('abort', end, { once: true })
  return unread
}

class UnreadChanges implements AsyncIterableIterator<ReportedChange> {
  readonly #type: Class
  #unread: ReportedChange[] = []
  #lostCount = 0
  #waiting: ((result: IteratorResult<ReportedChange>) => void)[] = []
  #started: Promise<() => void> = Promise.resolve(() => undefined)
  #ended: (() => void) | undefined
  #isOver = false

  constructor(type: Class) {
    this.#type = type
  }

  /** @param ended called once, at the end */
  follow(started: Promise<() => void>, ended: () => void): void {
    this.#started = started
    this.#ended = ended
    // The next read gets the error. Without this handler, the rejection would be unhandled until then.
    started.catch(() => {
      ended()
    })
  }

  add(change: ReportedChange): void {
    if (this.#isOver) return
    const reader = this.#waiting.shift()
    if (reader !== undefined) {
      reader({ value: change, done: false })
      return
    }
    if (this.#unread.length >= maxUnread) {
      this.#lostCount += this.#unread.length
      this.#unread = []
    }
    this.#unread.push(change)
  }

  async next(): Promise<IteratorResult<ReportedChange>> {
    await this.#started
    if (this.#lostCount > 0) {
      const missedCount: MissedChanges = {
        event: 'lost',
        record: this.#type,
        count: this.#lostCount,
      }
      this.#lostCount = 0
      return { value: missedCount, done: false }
    }
    const value = this.#unread.shift()
    if (value !== undefined) return { value, done: false }
    if (this.#isOver) return { value: undefined, done: true }
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Ends the iterable. Unread changes can still be read. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#ended?.()
    this.#started.then(
      (stop) => {
        stop()
      },
      () => undefined,
    )
    for (const reader of this.#waiting.splice(0)) reader({ value: undefined, done: true })
  }

  return(): Promise<IteratorResult<ReportedChange>> {
    this.end()
    this.#unread = []
    this.#lostCount = 0
    return Promise.resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
