/**
 * Messages between processes by PostgreSQL's NOTIFY. A listener holds a shared advisory lock for each of its topics,
 * which the server releases with the connection. Writers read these locks and send notifications only if a process
 * listens, because transactions with notifications are committed one after the other. Sources: PostgreSQL, NOTIFY;
 * Advisory Locks; pg_locks.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  topicCacheTime,
  type ChannelHandlers,
  type ChannelListener,
  type EngineChannel,
} from '../contract/engine.js'
import { EngineError } from '../contract/engine-error.js'
import { frameworkQuery, frameworkChange } from '../contract/statement.js'
import type { Client, Driver } from './driver.js'
import { convertPostgresError } from './errors.js'
import type { PostgresOptions } from './options.js'
import type { ConnectionPool } from './pool.js'
import { endSession, openSession, checkNotifications, type Session } from './session.js'

/** The channel of all messages. */
export const channelName = 'filigree_changes'
/** An arbitrary number: the first half of a topic's lock. The topic is the second half. */
const lockClass = 1_179_208_276

/** Milliseconds after which all writers that did not know a new topic have committed. */
const settleTime = topicCacheTime + 200
/**
 * The first delay before connecting again, which doubles up to the second one, so that a listener is back soon after a
 * failover of any length. Milliseconds.
 */
const [firstWait, longestWait] = [100, 250]
/** Milliseconds that an attempt to connect has to finish after the pool has reached the server. */
const heldAfter = 100
/** Milliseconds between two checks of a silent connection, which may be dead. */
const heartbeat = 30_000

const sendAll = frameworkChange(
  'unknown',
  `select pg_notify('${channelName}', message) from unnest($1::text[]) as message`,
  { mayWait: false },
)
// The two numbers of a lock are unsigned in pg_locks. The third column says that there are two.
const readTopics = frameworkQuery(
  `select distinct objid::bigint from pg_locks where locktype = 'advisory' and classid = ${lockClass} and objsubid = 2 and granted and pid is distinct from $1::int and database = (select oid from pg_database where datname = current_database())`,
  { isFresh: true },
)

/** @returns `undefined` on a compatible server without pg_locks */
export async function createPostgresChannel(
  driver: Driver,
  pool: ConnectionPool,
  options: PostgresOptions,
): Promise<EngineChannel | undefined> {
  try {
    await pool.query(readTopics.sql, [null])
  } catch {
    return undefined
  }
  return {
    send: async (runner, messages) => {
      await runner.run(sendAll, [messages], 'rows')
    },
    topics: async (runner, exceptProcess) => {
      const rows = await runner.run(readTopics, [exceptProcess ?? null], 'rows')
      return new Set(rows.map(([topic]) => Number(topic) | 0))
    },
    listen: (handlers) => new PostgresListener({ driver, pool, options, handlers }),
  }
}

/** A connection and the topics whose locks it holds, each with the time from which all writers know it. */
interface ListeningConnection {
  readonly client: Client
  readonly processId: number
  readonly topics: Map<number, Promise<void>>
  /** Its last statement, because the driver runs one at a time. */
  last: Promise<unknown>
}

interface ListenerParts {
  readonly driver: Driver
  readonly pool: ConnectionPool
  readonly options: PostgresOptions
  readonly handlers: ChannelHandlers
}

class PostgresListener implements ChannelListener {
  readonly #driver: Driver
  readonly #pool: ConnectionPool
  readonly #options: PostgresOptions
  readonly #handlers: ChannelHandlers
  #topics: ReadonlySet<number> = new Set()
  #connection: ListeningConnection | undefined
  #opening: Promise<ListeningConnection> | undefined
  #reconnecting: AbortController | undefined
  #heartbeat: NodeJS.Timeout | undefined
  #isClosed = false
  /** The permanent error that prevents notifications. */
  #refusal: EngineError | undefined

  constructor({ driver, pool, options, handlers }: ListenerParts) {
    this.#driver = driver
    this.#pool = pool
    this.#options = options
    this.#handlers = handlers
  }

  get processId(): number | undefined {
    return this.#connection?.processId
  }

  async listenTo(topics: ReadonlySet<number>): Promise<void> {
    this.#topics = topics
    if (topics.size === 0) return this.#disconnect()
    if (this.#refusal !== undefined) throw this.#refusal
    const connection = this.#connection ?? (await this.#open())
    await this.#updateLocks(connection)
  }

  close(): Promise<void> {
    this.#isClosed = true
    this.#topics = new Set()
    return this.#disconnect()
  }

  #open(): Promise<ListeningConnection> {
    if (this.#opening !== undefined) return this.#opening
    const opening = this.#connect().finally(() => {
      if (this.#opening === opening) this.#opening = undefined
    })
    this.#opening = opening
    return opening
  }

  async #connect(): Promise<ListeningConnection> {
    const session = await openSession(this.#driver, this.#options, {
      applicationName: 'filigree listener',
      queryTimeout: 10_000,
    })
    const { client, processId } = session
    const connection: ListeningConnection = {
      client,
      processId,
      topics: new Map(),
      last: Promise.resolve(),
    }
    client.on('end', () => {
      this.#connectionLost(connection)
    })
    client.on('notification', ({ channel, payload }) => {
      if (channel === channelName && payload !== undefined) this.#handlers.message(payload)
    })
    try {
      if (session.isPooled) await this.#verify(session)
      await client.query(`listen ${channelName}`)
    } catch (error) {
      endSession(client)
      throw convertPostgresError(error)
    }
    // An attempt that was given up may still succeed, before or after the next one.
    if (this.#connection !== undefined) {
      endSession(client)
      return this.#connection
    }
    // The listener may have been closed in the meantime.
    if (this.#isClosed || this.#topics.size === 0) {
      endSession(client)
      return connection
    }
    this.#connection = connection
    this.#heartbeat = setInterval(() => {
      runQueued(connection, 'select 1').catch(() => {
        endSession(client)
      })
    }, heartbeat).unref()
    return connection
  }

  /** @throws {EngineError} `unavailable` behind a pooler without sessions, because notifications would be lost */
  async #verify(session: Session): Promise<void> {
    try {
      await checkNotifications(session, this.#pool)
    } catch (error) {
      if (error instanceof EngineError) this.#refuse(error)
      throw error
    }
  }

  #refuse(refusal: EngineError): void {
    this.#refusal = refusal
    this.#options.log.error(
      { err: refusal },
      'events of other processes cannot be heard through the pooler: set DATABASE_DIRECT_URL to an address that leads around it',
    )
  }

  /** Acquires the locks of new topics, releases those of old ones, and waits until all writers know the topics. */
  async #updateLocks(connection: ListeningConnection): Promise<void> {
    const { client, topics } = connection
    const obsolete = [...topics.keys()].filter((topic) => !this.#topics.has(topic))
    for (const topic of obsolete) topics.delete(topic)
    if (obsolete.length > 0)
      runQueued(connection, lockSql('unlock', obsolete)).catch(() => undefined)
    const missing = [...this.#topics].filter((topic) => !topics.has(topic))
    if (missing.length > 0) {
      const settled = runQueued(connection, lockSql('lock', missing)).then(() => sleep(settleTime))
      for (const topic of missing) topics.set(topic, settled)
    }
    try {
      await Promise.all(new Set(topics.values()))
    } catch (error) {
      endSession(client)
      throw convertPostgresError(error)
    }
  }

  #connectionLost(connection: ListeningConnection): void {
    if (this.#connection !== connection) return
    this.#clear()
    if (this.#isClosed || this.#topics.size === 0) return
    const { log } = this.#options
    log.warn({}, 'the connection that listens to changes was lost')
    this.#reconnecting ??= new AbortController()
    this.#reconnect(this.#reconnecting.signal).catch((error: unknown) => {
      log.error({ err: error }, 'listening to changes again failed')
    })
  }

  /** Connects again, however long it takes, and reports that messages may be missing. */
  async #reconnect(signal: AbortSignal): Promise<void> {
    let wait = firstWait
    for (;;) {
      // Requests also look for the server, and may find it first.
      const found = this.#pool.nextOpened()
      try {
        await Promise.race([sleep(wait, undefined, { signal, ref: false }), found])
      } catch {
        // The listener was closed.
        return
      }
      const outcome = await this.#tryAgain()
      if (signal.aborted) return
      if (outcome === 'listens') break
      // The server can be reached since this attempt began, so the next one does not wait.
      const isReachable = outcome === 'reachable' && wait > 0
      wait = isReachable ? 0 : Math.min(Math.max(wait * 2, firstWait), longestWait)
    }
    this.#reconnecting = undefined
    this.#handlers.messagesLost()
  }

  /**
   * Opens a connection. A balancer may hold the attempt at a server that is down, so it is given up if the pool reaches
   * the server meanwhile.
   *
   * @returns `reachable` if it did not succeed, but the pool has reached the server
   */
  async #tryAgain(): Promise<'listens' | 'reachable' | 'failed'> {
    const reached = this.#pool.nextOpened().then(() => 'reachable' as const)
    const held = reached.then(() => sleep(heldAfter, undefined, { ref: false }))
    try {
      const connection = this.#connection ?? (await Promise.race([this.#open(), held]))
      if (connection !== undefined) {
        await this.#updateLocks(connection)
        return 'listens'
      }
      this.#opening = undefined
    } catch {
      // The next attempt follows.
    }
    return Promise.race([reached, Promise.resolve('failed' as const)])
  }

  #clear(): void {
    clearInterval(this.#heartbeat)
    this.#connection = undefined
  }

  #disconnect(): Promise<void> {
    this.#reconnecting?.abort()
    this.#reconnecting = undefined
    const client = this.#connection?.client
    this.#clear()
    return client === undefined ? Promise.resolve() : client.end().catch(() => undefined)
  }
}

function runQueued(connection: ListeningConnection, sql: string): Promise<unknown> {
  const result = connection.last.then(() => connection.client.query(sql))
  connection.last = result.catch(() => undefined)
  return result
}

/** The statement that acquires or releases the locks of topics. */
function lockSql(action: 'lock' | 'unlock', topics: readonly number[]): string {
  return `select pg_advisory_${action}_shared(${lockClass}, topic) from unnest(array[${topics.join()}]::int[]) as topic`
}
