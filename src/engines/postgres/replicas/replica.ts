/** A replica, whose position is polled. It is not used while it does not respond. */

import type { Client, Driver } from '../driver.js'
import type { PostgresOptions } from '../options.js'
import { endSession, openSession } from '../session.js'
import type { Log } from '../../../core/log.js'
import type { Engine } from '../../contract/engine.js'

/** A server's position in the write-ahead log, in bytes since its beginning. */
export interface Position {
  readonly lsn: bigint
  /** True for a server that replays another one's log. */
  readonly isReplica: boolean
  /** True for a replica that receives the log from another server now. */
  readonly isStreaming: boolean
  /** The timeline of a primary, as text. A promoted server begins a new one. */
  readonly timeline: string | undefined
}

const readPosition = `select pg_is_in_recovery(),
  (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end)::text,
  exists (select from pg_stat_wal_receiver),
  case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end`

/** Reads the position of one server on a connection of its own. */
export class PositionProbe {
  readonly #driver: Driver
  readonly #options: PostgresOptions
  readonly #timeout: number
  #client: Client | undefined
  #isClosed = false

  /** @param timeout milliseconds to wait for a response */
  constructor(driver: Driver, options: PostgresOptions, timeout: number) {
    this.#driver = driver
    this.#options = { ...options, connectTimeout: timeout }
    this.#timeout = timeout
  }

  /** @throws the error of the connection or the query */
  async read(): Promise<Position> {
    const client = (this.#client ??= await this.#connect())
    try {
      const { rows } = await client.query({ text: readPosition, values: [], rowMode: 'array' })
      const [isReplica, lsn, isStreaming, timeline] = rows[0] ?? []
      return {
        isReplica: isReplica === true,
        lsn: parseLsn(lsn),
        isStreaming: isStreaming === true,
        timeline: typeof timeline === 'string' ? timeline : undefined,
      }
    } catch (error) {
      this.#disconnect()
      throw error
    }
  }

  /** The next position is read on a new connection. */
  reconnect(): void {
    this.#disconnect()
  }

  close(): void {
    this.#isClosed = true
    this.#disconnect()
  }

  async #connect(): Promise<Client> {
    const { client } = await openSession(this.#driver, this.#options, {
      applicationName: 'filigree replicas',
      queryTimeout: this.#timeout,
    })
    if (this.#isClosed) endSession(client)
    return client
  }

  #disconnect(): void {
    if (this.#client !== undefined) endSession(this.#client)
    this.#client = undefined
  }
}

/** `16/B374D848`: two halves of 32 bits. */
export function parseLsn(lsn: unknown): bigint {
  const [high = '', low = ''] = String(lsn).split('/')
  if (!/^[0-9a-f]+$/i.test(high) || !/^[0-9a-f]+$/i.test(low)) {
    throw new TypeError(
      `The server reports an invalid position in the write-ahead log: ${String(lsn)}.`,
    )
  }
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}

export interface ReplicaParts {
  /** Its address without user and password. */
  readonly name: string
  readonly log: Log
  open(): Promise<Engine>
  /** Reads its position. */
  readPosition(): Promise<Position>
  close(): void
}

/** Polls in a row in which a replica must receive the log, because a diverged one connects and is rejected at once. */
const streamingPolls = 2

export class Replica {
  readonly name: string
  /** Undefined until it was reached for the first time. */
  engine: Engine | undefined
  /** Whether it has responded, and no statement has failed since then because it was unreachable. */
  isUp = false
  lsn = 0n
  /** The time in milliseconds up to which it has all commits. */
  visibleUntil = -Infinity
  /** The number of its running statements. */
  running = 0
  readonly #parts: ReplicaParts
  /**
   * Undefined while it follows the primary. After a failover, the polls in a row in which it received the log: until it
   * follows the new primary, its positions may be those of writes that were lost.
   */
  #pollsAfterFailover: number | undefined
  #loggedState: 'up' | 'down' | 'no replica' | undefined
  #isClosed = false

  constructor(parts: ReplicaParts) {
    this.name = parts.name
    this.#parts = parts
  }

  /** @returns whether it responded and is a replica */
  async poll(): Promise<boolean> {
    try {
      const { isReplica, lsn, isStreaming } = await this.#parts.readPosition()
      if (!isReplica) {
        this.#exclude('no replica', undefined)
        return false
      }
      this.#countStreaming(isStreaming)
      this.engine ??= await this.#parts.open()
      if (this.#isClosed) await this.engine.close()
      this.lsn = lsn
      this.isUp = !this.#isClosed
      if (this.#loggedState === 'down' || this.#loggedState === 'no replica') {
        this.#parts.log.info({ replica: this.name }, 'a replica of the database is back')
      }
      this.#loggedState = 'up'
      return true
    } catch (error) {
      this.#exclude('down', error)
      return false
    }
  }

  /** Whether its position is one of the present primary. */
  get followsPrimary(): boolean {
    return this.#pollsAfterFailover === undefined
  }

  /** The primary is another server now. */
  primaryChanged(): void {
    this.#pollsAfterFailover = 0
  }

  #countStreaming(isStreaming: boolean): void {
    if (this.#pollsAfterFailover === undefined) return
    const polls = isStreaming ? this.#pollsAfterFailover + 1 : 0
    this.#pollsAfterFailover = polls < streamingPolls ? polls : undefined
  }

  /** A statement failed because the server is unreachable. */
  markUnreachable(error: unknown): void {
    this.#exclude('down', error)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.isUp = false
    this.#parts.close()
    await this.engine?.close()
  }

  #exclude(why: 'down' | 'no replica', err: unknown): void {
    this.isUp = false
    if (this.#loggedState === why || this.#isClosed) return
    this.#loggedState = why
    const { log } = this.#parts
    if (why === 'down') {
      log.warn(
        { err, replica: this.name },
        'a replica of the database was lost; reads go elsewhere',
      )
    } else {
      log.warn(
        { replica: this.name },
        'a replica of the database is a primary, as after a failover: reads go elsewhere while it is one',
      )
    }
  }
}
