/**
 * Messages between processes by a table that they poll, for servers without LISTEN or poolers without sessions. Writers
 * insert messages in their transaction, and listeners read new ones several times a second. The time of a message is the
 * server's time of the insert. Messages that are committed later are found because the last seconds are read again.
 */
import { randomInt, randomUUID } from 'node:crypto'
import {
  topicCacheTime,
  type ChannelHandlers,
  type ChannelListener,
  type EngineChannel,
  type Row,
  type Runner,
} from '../contract/engine.js'
import { frameworkQuery, frameworkChange, frameworkScript } from '../contract/statement.js'
import type { Driver } from './driver.js'
import { convertPostgresError } from './errors.js'
import type { PostgresOptions } from './options.js'
import type { ConnectionPool } from './pool.js'
import { changePostgresSchema } from './schema-change.js'

/** Milliseconds between two polls. */
const pollInterval = 200
/** How many milliseconds after its insert a message may be committed. */
const commitDelay = 5000
/** Milliseconds after which a process without registration is ignored, and between two registrations of a process. */
const [listenerTimeout, registerInterval] = [15_000, 5000]
/** Milliseconds for which messages are stored. A listener that was disconnected longer has missed some. */
const retention = 60_000

const isThere = frameworkQuery(
  `select to_regclass('filigree_change') is not null and to_regclass('filigree_listener') is not null`,
)
const tables = `create table if not exists filigree_change (
  id text primary key,
  told_at timestamptz not null,
  place integer not null,
  message text not null
);
create index if not exists filigree_change_told_at on filigree_change (told_at);
create table if not exists filigree_listener (
  process integer not null,
  topic integer not null,
  seen_at timestamptz not null,
  primary key (process, topic)
)`

const ago = (position: number): string =>
  `clock_timestamp() - $${position}::float8 * interval '1 millisecond'`
const insert = frameworkChange(
  'insert',
  `insert into filigree_change (id, told_at, place, message)
   select id, clock_timestamp(), place, message
   from unnest($1::text[], $2::int[], $3::text[]) as one (id, place, message)`,
  { tables: ['filigree_change'], isFresh: true },
)
const readTopics = frameworkQuery(
  `select distinct topic from filigree_listener where seen_at > ${ago(1)} and process is distinct from $2::int`,
)
const readNew = frameworkQuery(
  `select id, message from filigree_change where told_at > ${ago(1)} order by told_at, place`,
)
/** Stores the topics of one process, in the order of their keys, and removes those that it no longer listens to. */
const storeTopics = `with gone as (
    delete from filigree_listener where (process, topic) in (
      select process, topic from filigree_listener
      where process = $1::int and not topic = any($2::int[]) order by process, topic for update)
  )
  insert into filigree_listener (process, topic, seen_at)
  select $1::int, topic, clock_timestamp() from unnest($2::int[]) as one (topic) order by topic
  on conflict (process, topic) do update set seen_at = excluded.seen_at`
// Rows that another process is changing or deleting are skipped, so that a sweep never waits.
const sweepTexts = `delete from filigree_change where id in (
  select id from filigree_change where told_at < ${ago(1)} for update skip locked)`
const sweepListeners = `delete from filigree_listener where (process, topic) in (
  select process, topic from filigree_listener where seen_at < ${ago(1)} for update skip locked)`

/** @returns the channel, once its tables exist */
export async function createPolledChannel(
  driver: Driver,
  pool: ConnectionPool,
  options: PostgresOptions,
): Promise<EngineChannel> {
  const [row] = await query(pool, isThere.sql, [])
  if (row?.[0] !== true) {
    const make = async (runner: Runner): Promise<void> =>
      runner.run(frameworkScript(tables), [], 'nothing')
    await changePostgresSchema(driver, options, make, true)
  }
  return {
    send: async (runner, messages) => {
      const positions = messages.map((_, position) => position)
      await runner.run(insert, [messages.map(() => randomUUID()), positions, messages], 'count')
    },
    topics: async (runner, exceptProcess) => {
      const rows = await runner.run(readTopics, [listenerTimeout, exceptProcess ?? null], 'rows')
      return new Set(rows.map(([topic]) => Number(topic)))
    },
    listen: (handlers) => new PolledListener(pool, options, handlers),
  }
}

async function query(
  pool: ConnectionPool,
  text: string,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  try {
    return await pool.query(text, values)
  } catch (error) {
    throw convertPostgresError(error)
  }
}

class PolledListener implements ChannelListener {
  /** A random number that identifies the topics of this process. */
  readonly processId = randomInt(1, 2 ** 31 - 1)
  readonly #pool: ConnectionPool
  readonly #options: PostgresOptions
  readonly #handlers: ChannelHandlers
  #topics: ReadonlySet<number> = new Set()
  /** Messages of the last seconds that were delivered already. */
  #deliveredIds = new Set<string>()
  /** The time at which the topics were last read, in milliseconds; undefined while they are not needed. */
  #polledAt: number | undefined
  #registeredAt = -Infinity
  /** The last `#register` that was called, and whether it has read the topics yet. */
  #registering: Promise<void> = Promise.resolve()
  #isRegisterQueued = false
  #timer: NodeJS.Timeout | undefined
  #isLost = false

  constructor(pool: ConnectionPool, options: PostgresOptions, handlers: ChannelHandlers) {
    this.#pool = pool
    this.#options = options
    this.#handlers = handlers
  }

  async listenTo(topics: ReadonlySet<number>): Promise<void> {
    const isNew = [...topics].some((topic) => !this.#topics.has(topic))
    this.#topics = topics
    await this.#register()
    if (topics.size === 0) {
      this.#stop()
      return
    }
    if (this.#polledAt === undefined) {
      // Earlier messages are not for the listeners of this process.
      this.#deliveredIds = new Set((await this.#read(commitDelay)).map(([id]) => String(id)))
      this.#polledAt = performance.now()
      this.#schedulePoll()
    }
    // Afterwards, all writers that did not know the topic have committed.
    if (isNew) await new Promise((resolve) => setTimeout(resolve, topicCacheTime + pollInterval))
  }

  async close(): Promise<void> {
    this.#topics = new Set()
    this.#stop()
    await this.#register().catch(() => undefined)
  }

  #stop(): void {
    clearTimeout(this.#timer)
    this.#polledAt = undefined
  }

  #schedulePoll(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      void this.#poll().then(() => {
        if (this.#polledAt !== undefined) this.#schedulePoll()
      })
    }, pollInterval).unref()
  }

  async #poll(): Promise<void> {
    const startedAt = performance.now()
    const sinceLastPoll = startedAt - (this.#polledAt ?? startedAt)
    try {
      const rows = await this.#read(sinceLastPoll + commitDelay)
      if (this.#polledAt === undefined) return
      this.#polledAt = startedAt
      this.#deliver(rows)
      if (this.#isLost && sinceLastPoll > retention - 2 * commitDelay) this.#handlers.messagesLost()
      this.#isLost = false
      if (startedAt - this.#registeredAt > registerInterval) await this.#register()
    } catch (err) {
      if (!this.#isLost)
        this.#options.log.warn({ err }, 'changes of other processes cannot be read')
      this.#isLost = true
    }
  }

  #deliver(rows: readonly Row[]): void {
    const delivered = new Set<string>()
    for (const [id, message] of rows) {
      const name = String(id)
      delivered.add(name)
      if (!this.#deliveredIds.has(name)) this.#handlers.message(String(message))
    }
    this.#deliveredIds = delivered
  }

  #read(since: number): Promise<readonly Row[]> {
    return query(this.#pool, readNew.sql, [since])
  }

  /**
   * Stores this process's topics, and deletes old rows. Calls run one after another, so that the last one stores the
   * latest topics. Concurrent callers share a call that has not begun yet.
   */
  #register(): Promise<void> {
    if (this.#isRegisterQueued) return this.#registering
    this.#isRegisterQueued = true
    const register = (): Promise<void> => {
      this.#isRegisterQueued = false
      return this.#registerNow()
    }
    this.#registering = this.#registering.then(register, register)
    return this.#registering
  }

  async #registerNow(): Promise<void> {
    await query(this.#pool, storeTopics, [this.processId, [...this.#topics]])
    if (performance.now() - this.#registeredAt > registerInterval) {
      await query(this.#pool, sweepTexts, [retention])
      await query(this.#pool, sweepListeners, [2 * listenerTimeout])
    }
    this.#registeredAt = performance.now()
  }
}
