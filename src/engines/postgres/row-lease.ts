/**
 * The schema lock as a row with an expiry time, for servers without advisory locks: the holder renews it regularly, and
 * loses it when it expires. Times are the server's.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { EngineFault, type Row } from '../contract/engine.js'
import type { Client, Driver } from './driver.js'
import type { PostgresOptions } from './options.js'
import { endSession, openSession, runOn } from './session.js'

/** Milliseconds after which it expires, and between two renewals. */
const [lasts, sign] = [15_000, 4000]
const name = 'schema'

const table = `create table if not exists filigree_lock (
  name text primary key,
  holder text not null,
  who text not null,
  until_at timestamptz not null
)`
const until = `clock_timestamp() + ${lasts} * interval '1 millisecond'`
const take = `insert into filigree_lock (name, holder, who, until_at) values ($1, $2, $3, ${until})
  on conflict (name) do update set holder = excluded.holder, who = excluded.who, until_at = excluded.until_at
  where filigree_lock.until_at < clock_timestamp() returning 1`
const prolong = `update filigree_lock set until_at = ${until}
  where name = $1 and holder = $2 and until_at >= clock_timestamp() returning 1`
const release = 'delete from filigree_lock where name = $1 and holder = $2 returning 1'
const readWho = 'select who from filigree_lock where name = $1'

export class RowLease {
  readonly #client: Client
  readonly #holder = randomUUID()
  #timer: NodeJS.Timeout | undefined
  #isLost = false

  private constructor(client: Client) {
    this.#client = client
    client.on('end', () => {
      this.#isLost = true
    })
  }

  /** @param wait waits before the next attempt; receives the holder */
  static async take(
    driver: Driver,
    options: PostgresOptions,
    wait: (who: () => Promise<string>) => Promise<void>,
  ): Promise<RowLease> {
    const { client } = await openSession(driver, options, { applicationName: 'filigree lock' })
    const lease = new RowLease(client)
    try {
      await lease.#make()
      while (!(await lease.#has(take, [`${hostname()} ${process.pid}`]))) {
        await wait(() => lease.#readWho())
      }
    } catch (error) {
      endSession(client)
      throw error
    }
    lease.#timer = setInterval(() => {
      lease.#has(prolong).then(
        (isHeld) => {
          if (!isHeld) lease.#isLost = true
        },
        () => {
          lease.#isLost = true
        },
      )
    }, sign).unref()
    return lease
  }

  /** @throws {EngineFault} another process holds it, or may hold it */
  async assertHeld(): Promise<void> {
    if (this.#isLost || !(await this.#has(prolong))) {
      throw new EngineFault('unavailable', 'The lock of the schema was lost.')
    }
  }

  async release(): Promise<void> {
    clearInterval(this.#timer)
    await this.#has(release).catch(() => false)
    endSession(this.#client)
  }

  async #make(): Promise<void> {
    // Two processes that create it at once conflict; afterwards it exists.
    try {
      await this.#client.query(table)
    } catch {
      await this.#client.query(table)
    }
  }

  async #readWho(): Promise<string> {
    const [row] = await this.#ask(readWho, [name])
    return row === undefined ? 'nobody any more' : (row[0] as string)
  }

  async #has(sql: string, more: readonly unknown[] = []): Promise<boolean> {
    return (await this.#ask(sql, [name, this.#holder, ...more])).length > 0
  }

  async #ask(sql: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return (await runOn(this.#client, sql, values)).rows
  }
}
