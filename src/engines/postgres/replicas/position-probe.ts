/** Asks a server for its position in the write-ahead log, on a separate connection, because the pool may be busy. */
import type { Client, Driver } from '../driver.js'
import type { PostgresOptions } from '../options.js'
import { endSession, openSession } from '../session.js'

/** A server's position in the write-ahead log, in bytes since its beginning. */
export interface Position {
  readonly lsn: bigint
  /** True for a server that replays another one's log. */
  readonly isReplica: boolean
}

const readPosition = `select pg_is_in_recovery(),
  (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end)::text`

export class PositionProbe {
  readonly #driver: Driver
  readonly #options: PostgresOptions
  readonly #patience: number
  #client: Client | undefined
  #isClosed = false

  /** @param patience milliseconds to wait for an answer */
  constructor(driver: Driver, options: PostgresOptions, patience: number) {
    this.#driver = driver
    this.#options = { ...options, connectTimeout: patience }
    this.#patience = patience
  }

  /** @throws the error that kept the server from answering */
  async read(): Promise<Position> {
    const client = (this.#client ??= await this.#connect())
    try {
      const { rows } = await client.query({ text: readPosition, values: [], rowMode: 'array' })
      const [isReplica, lsn] = rows[0] ?? []
      return { isReplica: isReplica === true, lsn: toBytes(lsn) }
    } catch (error) {
      this.#letGo()
      throw error
    }
  }

  close(): void {
    this.#isClosed = true
    this.#letGo()
  }

  async #connect(): Promise<Client> {
    const { client } = await openSession(this.#driver, this.#options, {
      applicationName: 'filigree replicas',
      queryTimeout: this.#patience,
    })
    if (this.#isClosed) endSession(client)
    return client
  }

  #letGo(): void {
    if (this.#client !== undefined) endSession(this.#client)
    this.#client = undefined
  }
}

/** `16/B374D848`: two halves of 32 bits. */
export function toBytes(lsn: unknown): bigint {
  const [high = '', low = ''] = String(lsn).split('/')
  if (!/^[0-9a-f]+$/i.test(high) || !/^[0-9a-f]+$/i.test(low)) {
    throw new TypeError(
      `The server did not tell its position in the write-ahead log: ${String(lsn)}.`,
    )
  }
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}
