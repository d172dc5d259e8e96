/**
 * Connections outside the pool, for work that needs a session: LISTEN, schema changes. A transaction pooler (PgBouncer)
 * between the process and the server assigns each transaction to any free server connection, so the state of a session
 * is lost; the direct address avoids the pooler.
 */

import { createRequire } from 'node:module'
import { randomBytes } from 'node:crypto'
import { type Heartbeat, type HeartbeatOptions, startHeartbeat } from '../contract/heartbeat.js'
import { kindQuery, openClient, otherKind } from './open-client.js'
import { urlsOf, type PostgresOptions } from './options.js'
import { EngineError } from '../contract/engine-error.js'
import type { Client, Driver, Result } from './driver.js'
import { convertPostgresError } from './errors.js'
import type { ConnectionPool } from './pool.js'

const program = `
const { library, urls, kindQuery, otherKind, wait } = require('node:worker_threads').workerData
const { Client } = require(library)
const openAt = async (url) => {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: wait,
    query_timeout: wait,
    keepAlive: true,
    application_name: 'filigree heartbeat',
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows: [row] } = kindQuery ? await client.query(kindQuery) : { rows: [{ matches: true }] }
    if (!row.matches) throw new Error(otherKind)
  } catch (error) {
    client.end().catch(() => undefined)
    throw error
  }
  return {
    run: async (text, values) => (await client.query({ text, values, rowMode: 'array' })).rows,
    close: () => client.end(),
  }
}
const open = async () => {
  for (const [index, url] of urls.entries())
    try {
      return await openAt(url)
    } catch (error) {
      if (index === urls.length - 1) throw error
    }
}
`

export function startPostgresHeartbeat(
  options: PostgresOptions,
  heartbeatOptions: HeartbeatOptions,
): Heartbeat {
  const library = createRequire(import.meta.url).resolve('pg')
  const { connectTimeout: wait = 5000 } = options
  const urls = sessionUrls(options)
  const data = { library, urls, wait, kindQuery: kindQuery(options), otherKind: otherKind(options) }
  return startHeartbeat(program, data, heartbeatOptions)
}

export interface Session {
  readonly client: Client
  /** The id of the server's process. */
  readonly processId: number
  /** The driver received another id, so there is a pooler. */
  readonly isPooled: boolean
}

export interface SessionOptions {
  readonly applicationName: string
  /** Milliseconds that the driver waits for a result. Default: no limit. */
  readonly queryTimeout?: number
}

/** Parameters of the address that would limit the session's statements. A session sets its own limits. */
const limits = ['statement_timeout', 'query_timeout', 'lock_timeout', 'connections']

/** @throws {EngineError} `unavailable` if no connection can be opened */
export async function openSession(
  driver: Driver,
  options: PostgresOptions,
  { applicationName, queryTimeout }: SessionOptions,
): Promise<Session> {
  const settings = {
    connectionTimeoutMillis: options.connectTimeout ?? 5000,
    ...(queryTimeout === undefined ? {} : { query_timeout: queryTimeout }),
    keepAlive: true,
    application_name: applicationName,
  }
  let client: Client | undefined
  try {
    client = await openClient(driver, options, sessionUrls(options), settings)
    const processId = await readProcessId(client)
    return { client, processId, isPooled: processId !== client.processID }
  } catch (error) {
    if (client !== undefined) endSession(client)
    throw convertPostgresError(error)
  }
}

/** An address for each host, without the limits of the pool's statements. */
function sessionUrls(options: PostgresOptions): readonly string[] {
  const urls = options.direct === undefined ? urlsOf(options) : [options.direct]
  return urls.map((url) => {
    const address = new URL(url)
    for (const name of limits) address.searchParams.delete(name)
    return address.href
  })
}

export function endSession(client: Client): void {
  client.end().catch(() => undefined)
}

/** Runs a statement that is not prepared. */
export async function runOn(
  client: Client,
  sql: string,
  values: readonly unknown[],
): Promise<Result> {
  try {
    return await client.query({ text: sql, values, rowMode: 'array' })
  } catch (error) {
    throw convertPostgresError(error)
  }
}

/** Runs statements without values. */
export async function scriptOn(client: Client, sql: string): Promise<void> {
  try {
    await client.query(sql)
  } catch (error) {
    throw convertPostgresError(error)
  }
}

/** The id of the current server process. Behind a pooler the driver receives another id. */
async function readProcessId(client: Client): Promise<number> {
  const text = 'select pg_backend_pid()'
  const { rows } = await client.query({ text, values: [], rowMode: 'array' })
  return Number(rows[0]?.[0])
}

/** Milliseconds to wait for a notification. In a real session it arrives with the response. */
const probeTimeout = 2000

/**
 * Tests whether notifications reach this connection: some poolers keep sessions.
 *
 * @throws {EngineError} `unavailable` if they do not
 */
export async function checkNotifications({ client }: Session, pool: ConnectionPool): Promise<void> {
  const name = `filigree_probe_${randomBytes(8).toString('hex')}`
  await client.query(`listen ${name}`)
  const received = receivesNotification(client)
  await pool.query(`notify ${name}`)
  const isReceived = await received
  await client.query(`unlisten ${name}`)
  if (isReceived) return
  const message = 'A pooler before the database keeps no sessions for LISTEN.'
  throw new EngineError('unavailable', message, undefined, { needsSession: true })
}

function receivesNotification(client: Client): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, probeTimeout, false)
    client.on('notification', () => {
      clearTimeout(timer)
      resolve(true)
    })
  })
}
