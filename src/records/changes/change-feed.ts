/**
 * Publishes changes: in this process after the commit, to other processes by text messages through their database.
 * Nothing is sent while no process listens. The listening processes are looked up at most twice a second.
 */
import { AsyncResource } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { Log } from '../../core/log.js'
import {
  readMessage,
  readSignal,
  toMessages,
  topicOf,
  topicOfRows,
  topicOfSignal,
  toSignal,
  type Change,
  type PastRow,
  type RowChanges,
} from './changes.js'
import { type MaybePromise, after } from '../../core/maybe-promise.js'
import {
  topicCacheTime,
  type ChannelListener,
  type EngineChannel,
  type Runner,
} from '../../engines/contract/engine.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import { policyOf } from '../rights/record-policy.js'

/** A listener for the changes of a table. */
export interface Watcher {
  /** Must not throw and must not block. */
  onChanges(changes: RowChanges): void
  /** The database is closed: no more changes will come. */
  end(): void
  /** The columns of deleted rows that it needs to decide who was allowed to see them. */
  readonly columns: readonly Column[]
  /** True if it also needs the old and new values of created and updated rows. Default false. */
  readonly needsRowValues?: boolean
}

export interface ChangeFeedOptions {
  /** Absent if no other process uses the database. */
  readonly channel: EngineChannel | undefined
  readonly engine: Runner
  readonly log: Log
}

export class ChangeFeed {
  readonly #options: ChangeFeedOptions
  readonly #origin = randomUUID()
  readonly #listeners = new Set<(change: Change) => void>()
  readonly #watchers = new Map<Table, Set<Watcher>>()
  /** Cached results of `pastColumns`, until watchers or topics change. */
  readonly #past = new Map<Table, readonly Column[]>()
  readonly #writtenBy = new Set<(table: string) => void>()
  readonly #signals = new Set<{ readonly name: string; readonly listener: () => void }>()
  /** The topics that this process listens to, each with its number of watchers. */
  readonly #listenedTopics = new Map<number, number>()
  /** The connection that listens must not belong to the transaction that opens it, because listeners run in its context. */
  readonly #outside = new AsyncResource('filigree.changes')
  #listener: ChannelListener | undefined
  /** The topics that other processes listen to, as of the last lookup. */
  #topics: ReadonlySet<number> = new Set()
  #topicsValidUntil = -Infinity
  #topicLookup: Promise<void> | undefined

  constructor(options: ChangeFeedOptions) {
    this.#options = options
  }

  /** The number of watchers. */
  get size(): number {
    let size = this.#listeners.size
    for (const watchers of this.#watchers.values()) size += watchers.size
    return size
  }

  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /**
   * Follows a table, whichever process writes to it.
   *
   * @returns a function that ends it, once no change that is committed from now on can be missed
   */
  async watch(table: Table, watcher: Watcher): Promise<() => void> {
    const watchers = this.#watchers.get(table) ?? new Set()
    this.#watchers.set(table, watchers.add(watcher))
    this.#past.delete(table)
    const topics = [undefined, ...watcher.columns].map((column) => topicOf(table, column))
    if (watcher.needsRowValues === true) topics.push(topicOfRows(table))
    this.#countTopics(topics, 1)
    const stop = (): void => {
      if (!watchers.delete(watcher)) return
      this.#past.delete(table)
      if (watchers.size === 0 && this.#watchers.get(table) === watchers)
        this.#watchers.delete(table)
      this.#stopListening(topics)
    }
    const { channel } = this.#options
    if (channel !== undefined) await this.#listen(channel, stop)
    return stop
  }

  /**
   * Publishes the commit of a statement that no repository has written: of Kysely, or of a package. Its rows are
   * unknown.
   *
   * @param tables by their names; `*` if there may be others
   */
  written(tables: readonly string[]): void {
    for (const table of tables) {
      for (const listener of this.#writtenBy) listener(table.toLowerCase())
      if (this.#options.channel === undefined) continue
      this.signal(toWritten(table)).catch((error: unknown) => {
        this.#options.log.warn(
          { err: error, table },
          'other processes cannot be notified of a write',
        )
      })
    }
  }

  /** Calls the listener with the tables that `written` publishes in this process. */
  onWritten(listener: (table: string) => void): () => void {
    this.#writtenBy.add(listener)
    return () => {
      this.#writtenBy.delete(listener)
    }
  }

  /** As `onWritten`, for one table and other processes. Undefined if they cannot send messages. */
  onWrittenElsewhere(table: string, listener: () => void): Promise<(() => void) | undefined> {
    return this.onSignal(toWritten(table), listener)
  }

  /** Calls the listeners in other processes, if there are any. */
  async signal(name: string): Promise<void> {
    const { channel, engine } = this.#options
    if (channel === undefined) return
    await this.#look(engine)
    if (!this.#topics.has(topicOfSignal(name))) return
    await channel.send(engine, [toSignal(this.#origin, name)])
  }

  /** @returns undefined if no signal can arrive */
  async onSignal(name: string, listener: () => void): Promise<(() => void) | undefined> {
    const { channel } = this.#options
    if (channel === undefined) return undefined
    const entry = { name, listener }
    this.#signals.add(entry)
    this.#countTopics([topicOfSignal(name)], 1)
    const stop = (): void => {
      if (!this.#signals.delete(entry)) return
      this.#stopListening([topicOfSignal(name)])
    }
    await this.#listen(channel, stop)
    return stop
  }

  /** @param stop called if the channel fails */
  async #listen(channel: EngineChannel, stop: () => void): Promise<void> {
    try {
      const listener = (this.#listener ??= channel.listen({
        message: (text) => {
          this.#receive(text)
        },
        messagesLost: () => {
          this.#notifyLoss()
        },
      }))
      await this.#outside.runInAsyncScope(() =>
        listener.listenTo(new Set(this.#listenedTopics.keys())),
      )
    } catch (error) {
      stop()
      throw error
    }
  }

  #stopListening(topics: readonly number[]): void {
    this.#countTopics(topics, -1)
    this.#listener?.listenTo(new Set(this.#listenedTopics.keys())).catch(() => undefined)
  }

  /** True if a listener in any process watches some table. */
  isFollowed(runner: Runner): MaybePromise<boolean> {
    if (this.#listeners.size > 0 || this.#watchers.size > 0) return true
    return after(this.#look(runner), () => this.#topics.size > 0)
  }

  /** True if a listener in any process watches this table. */
  follows(table: Table, runner: Runner): MaybePromise<boolean> {
    if (this.#listeners.size > 0 || this.#watchers.has(table)) return true
    return this.announces(table, runner)
  }

  /** True if a listener of `onChange` in this process gets every row, whatever the number. Watchers do not count. */
  get hasListeners(): boolean {
    return this.#listeners.size > 0
  }

  /** True if other processes watch the table, so that a message must be sent with the write. */
  announces(table: Table, runner: Runner): MaybePromise<boolean> {
    if (this.#options.channel === undefined) return false
    return after(this.#look(runner), () => this.#topics.has(topicOf(table)))
  }

  /** True if a watcher needs the old and new values of rows, as far as that is known now. */
  needsRowValues(table: Table): boolean {
    if (this.#topics.size > 0 && this.#topics.has(topicOfRows(table))) return true
    for (const watcher of this.#watchers.get(table) ?? []) if (watcher.needsRowValues) return true
    return false
  }

  /** As `needsRowValues`, for some columns. Columns that are not written keep their values. */
  needsColumns(table: Table, isWritten: (column: Column) => boolean): boolean {
    return this.needsRowValues(table) && this.pastColumns(table).some(isWritten)
  }

  /** The columns that watchers need of a deleted row of this table. Call it after `follows`. */
  pastColumns(table: Table): readonly Column[] {
    if (!policyOf(table).hasRows && !this.needsRowValues(table)) return []
    let columns = this.#past.get(table)
    if (columns === undefined) {
      const watchedColumns = new Set(
        [...(this.#watchers.get(table) ?? [])].flatMap((one) => one.columns),
      )
      columns = table.columns.filter(
        (column) => watchedColumns.has(column) || this.#topics.has(topicOf(table, column)),
      )
      this.#past.set(table, columns)
    }
    return columns
  }

  /** Sends the changes that other processes listen to, as part of the transaction that writes them. */
  async send(changes: readonly RowChanges[], runner: Runner): Promise<void> {
    const { channel } = this.#options
    if (channel === undefined || changes.length === 0) return
    await this.#look(runner)
    if (this.#topics.size === 0) return
    const messages = joinNeighbours(changes)
      .filter(({ table }) => this.#topics.has(topicOf(table)))
      .flatMap((one) => toMessages(this.#origin, one))
    if (messages.length > 0) await channel.send(runner, messages)
  }

  /** Notifies the watchers in this process. Call it after the commit. */
  notify(changes: readonly RowChanges[]): void {
    if (this.#listeners.size > 0) for (const one of changes) this.#notifyListeners(one)
    if (this.#watchers.size > 0) for (const one of changes) this.#notifyWatchers(one)
  }

  /** Ends all watchers, and the connection that listens. */
  async close(): Promise<void> {
    const watchers = [...this.#watchers.values()].flatMap((ofTable) => [...ofTable])
    this.#watchers.clear()
    for (const watcher of watchers) watcher.end()
    await this.#listener?.close()
  }

  #notifyListeners({ event, table, ids }: RowChanges): void {
    if (event === 'lost') return
    for (const id of ids) {
      for (const listener of this.#listeners) {
        try {
          listener({ event, record: table.type, id })
        } catch (error) {
          this.#options.log.error({ err: error }, 'a listener to changes failed')
        }
      }
    }
  }

  #notifyWatchers(changes: RowChanges): void {
    for (const watcher of this.#watchers.get(changes.table) ?? []) watcher.onChanges(changes)
  }

  #notifyLoss(): void {
    for (const table of this.#watchers.keys())
      this.#notifyWatchers({ event: 'lost', table, ids: [] })
    for (const { listener } of this.#signals) listener()
  }

  #receive(text: string): void {
    const signal = readSignal(text)
    if (signal !== undefined) {
      if (signal.origin === this.#origin) return
      for (const { name, listener } of this.#signals) if (name === signal.name) listener()
      return
    }
    const message = readMessage(text, this.#watchers.keys())
    if (message === undefined || message.origin === this.#origin) return
    this.#notifyWatchers(message.changes)
  }

  #countTopics(topics: readonly number[], more: 1 | -1): void {
    for (const topic of topics) {
      const count = (this.#listenedTopics.get(topic) ?? 0) + more
      if (count > 0) this.#listenedTopics.set(topic, count)
      else this.#listenedTopics.delete(topic)
    }
  }

  /**
   * Looks the topics up again if they are too old. Inside a transaction it uses the transaction's connection, because
   * the pool may have no other.
   */
  #look(runner: Runner): MaybePromise<void> {
    const { channel, engine } = this.#options
    if (channel === undefined || performance.now() < this.#topicsValidUntil) return undefined
    if (runner !== engine) return this.#lookNow(channel, runner)
    this.#topicLookup ??= this.#lookNow(channel, runner).finally(() => {
      this.#topicLookup = undefined
    })
    return this.#topicLookup
  }

  async #lookNow(channel: EngineChannel, runner: Runner): Promise<void> {
    const startTime = performance.now()
    this.#topics = await channel.topics(runner, this.#listener?.processId)
    this.#past.clear()
    this.#topicsValidUntil = startTime + topicCacheTime
  }
}

function toWritten(table: string): string {
  return `written ${table.toLowerCase()}`
}

/** Joins neighbouring changes of one table and event, so that few messages carry them. */
function joinNeighbours(changes: readonly RowChanges[]): readonly RowChanges[] {
  const joined: RowChanges[] = []
  let [ids, past]: [RowChanges['ids'][number][], (PastRow | undefined)[]] = [[], []]
  let now: PastRow[] = []
  for (const one of changes) {
    const last = joined.at(-1)
    const canJoin =
      last?.table === one.table &&
      last.event === one.event &&
      (last.past === undefined) === (one.past === undefined) &&
      (last.now === undefined) === (one.now === undefined)
    if (!canJoin) {
      ids = [...one.ids]
      past = [...(one.past ?? [])]
      now = [...(one.now ?? [])]
      joined.push({ ...one, ids, ...(one.past && { past }), ...(one.now && { now }) })
      continue
    }
    for (const id of one.ids) ids.push(id)
    for (const row of one.past ?? []) past.push(row)
    for (const row of one.now ?? []) now.push(row)
  }
  return joined
}
