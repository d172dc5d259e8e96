/**
 * Messages between processes by a table that they poll, for servers without LISTEN or poolers without sessions. Writers
 * insert messages in their transaction; listeners read new ones several times a second. Times are the server's at the
 * insert: rows that are committed late are found because the last seconds are read again.
 */
import { randomInt, randomUUID } from 'node:crypto'
import {
  lookupsLast,
  type ChannelHandlers,
  type ChannelListener,
  type EngineChannel,
  type Row,
  type Runner,
} from '../contract/engine.js'
import { ownQuestion, ownChange, ownScript } from '../contract/statement.js'
import type { Driver } from './driver.js'
import { toPostgresFault } from './errors.js'
import type { PostgresOptions } from './options.js'
import type { ConnectionPool } from './pool.js'
import { changePostgresSchema } from './schema-change.js'

/** Milliseconds between two polls. */
const pause = 200
/** How many milliseconds after its insert a message may be committed. */
const settling = 5000
/** Milliseconds after which a silent process no longer counts, and between two signs of life. */
const [silence, sign] = [15_000, 5000]
/** Milliseconds for which messages are kept: a listener that was away longer has missed some. */
const kept = 60_000

const isThere = ownQuestion(
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

const ago = (place: number): string =>
  `clock_timestamp() - $${place}::float8 * interval '1 millisecond'`
const insert = ownChange(
  'insert',
  `insert into filigree_change (id, told_at, place, message)
   select id, clock_timestamp(), place, message
   from unnest($1::text[], $2::int[], $3::text[]) as one (id, place, message)`,
  { tables: ['filigree_change'], isFresh: true },
)
const readTopics = ownQuestion(
  `select distinct topic from filigree_listener where seen_at > ${ago(1)} and process is distinct from $2::int`,
)
const readNew = ownQuestion(
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
  const [there] = await ask(pool, isThere.sql, [])
  if (there?.[0] !== true) {
    const make = async (runner: Runner): Promise<void> =>
      runner.run(ownScript(tables), [], 'nothing')
    await changePostgresSchema(driver, options, make, true)
  }
  return {
    send: async (runner, messages) => {
      const places = messages.map((_, place) => place)
      await runner.run(insert, [messages.map(() => randomUUID()), places, messages], 'count')
    },
    topics: async (runner, but) => {
      const rows = await runner.run(readTopics, [silence, but ?? null], 'rows')
      return new Set(rows.map(([topic]) => Number(topic)))
    },
    listen: (handlers) => new PolledListener(pool, options, handlers),
  }
}

async function ask(
  pool: ConnectionPool,
  text: string,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  try {
    return await pool.query(text, values)
  } catch (error) {
    throw toPostgresFault(error)
  }
}

class PolledListener implements ChannelListener {
  /** Not a server process: a random number, by which it recognizes its topics. */
  readonly processId = randomInt(1, 2 ** 31 - 1)
  readonly #pool: ConnectionPool
  readonly #options: PostgresOptions
  readonly #handlers: ChannelHandlers
  #topics: ReadonlySet<number> = new Set()
  /** Messages of the last seconds that were already passed on. */
  #told = new Set<string>()
  /** The time of the last look at the topics, in milliseconds; undefined while nobody needs them. */
  #lookedAt: number | undefined
  #signedAt = -Infinity
  /** The last `#sign` that was called, and whether it has read the topics yet. */
  #signing: Promise<void> = Promise.resolve()
  #isSignQueued = false
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
    await this.#sign()
    if (topics.size === 0) {
      this.#stop()
      return
    }
    if (this.#lookedAt === undefined) {
      // Earlier messages are not for the listeners of this process.
      this.#told = new Set((await this.#read(settling)).map(([id]) => String(id)))
      this.#lookedAt = performance.now()
      this.#later()
    }
    // Afterwards, all writers that did not know the topic have committed.
    if (isNew) await new Promise((resolve) => setTimeout(resolve, lookupsLast + pause))
  }

  async close(): Promise<void> {
    this.#topics = new Set()
    this.#stop()
    await this.#sign().catch(() => undefined)
  }

  #stop(): void {
    clearTimeout(this.#timer)
    this.#lookedAt = undefined
  }

  #later(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      void this.#look().then(() => {
        if (this.#lookedAt !== undefined) this.#later()
      })
    }, pause).unref()
  }

  async #look(): Promise<void> {
    const began = performance.now()
    const away = began - (this.#lookedAt ?? began)
    try {
      const rows = await this.#read(away + settling)
      if (this.#lookedAt === undefined) return
      this.#lookedAt = began
      this.#tell(rows)
      if (this.#isLost && away > kept - 2 * settling) this.#handlers.lost()
      this.#isLost = false
      if (began - this.#signedAt > sign) await this.#sign()
    } catch (err) {
      if (!this.#isLost)
        this.#options.log.warn({ err }, 'changes of other processes cannot be read')
      this.#isLost = true
    }
  }

  #tell(rows: readonly Row[]): void {
    const told = new Set<string>()
    for (const [id, message] of rows) {
      const name = String(id)
      told.add(name)
      if (!this.#told.has(name)) this.#handlers.message(String(message))
    }
    this.#told = told
  }

  #read(since: number): Promise<readonly Row[]> {
    return ask(this.#pool, readNew.sql, [since])
  }

  /**
   * Stores this process's topics, and deletes old rows. Calls run one after another, so that the last one to run stores the
   * last topics. A call that has not begun yet serves all who call meanwhile.
   */
  #sign(): Promise<void> {
    if (this.#isSignQueued) return this.#signing
    this.#isSignQueued = true
    const sign = (): Promise<void> => {
      this.#isSignQueued = false
      return this.#signNow()
    }
    this.#signing = this.#signing.then(sign, sign)
    return this.#signing
  }

  async #signNow(): Promise<void> {
    await ask(this.#pool, storeTopics, [this.processId, [...this.#topics]])
    if (performance.now() - this.#signedAt > sign) {
      await ask(this.#pool, sweepTexts, [kept])
      await ask(this.#pool, sweepListeners, [2 * silence])
    }
    this.#signedAt = performance.now()
  }
}
