/** Asks haproxy's primary directly, without the application, to measure when the new primary responds. */
import { setTimeout as pause } from 'node:timers/promises'

interface PgClient {
  connect(): Promise<void>
  query(sql: string): Promise<{ readonly rows: readonly Record<string, unknown>[] }>
  end(): Promise<void>
  on(event: 'error', listener: () => void): unknown
}
const driver = 'pg'
const { Client } = (await import(driver)) as { Client: new (options: object) => PgClient }

/** Milliseconds between two probes. */
const interval = 25
/** Milliseconds for a connection, and for a response. */
const timeout = 500
/** The first half of the locks that a listener holds: see `notify-channel.ts`. */
const listenerLocks = `select count(distinct pid) as listeners from pg_locks
  where locktype = 'advisory' and classid = 1179208276 and objsubid = 2 and granted`

/** Runs a query on a connection of its own. */
export async function query(
  url: string,
  sql: string,
  milliseconds = 60_000,
): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: milliseconds,
    query_timeout: milliseconds,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return (await client.query(sql)).rows
  } finally {
    client.end().catch(() => undefined)
  }
}

/**
 * Waits until another server than the old primary takes writes.
 *
 * @param oldPort the port of the old primary
 * @returns the time of its response, by `performance.now()`
 */
export async function newPrimary(url: string, oldPort: number): Promise<number> {
  const state = 'select pg_is_in_recovery() as standby, inet_server_port() as port'
  for (;;) {
    const [row] = await query(url, state, timeout).catch(() => [])
    if (row !== undefined && row.standby === false && row.port !== oldPort) return performance.now()
    await pause(interval)
  }
}

/** Waits until so many processes listen to changes. @returns the time of the response that says so */
export async function listening(url: string, processes: number): Promise<number> {
  for (;;) {
    const [row] = await query(url, listenerLocks, timeout).catch(() => [])
    if (Number(row?.listeners) >= processes) return performance.now()
    await pause(interval)
  }
}
