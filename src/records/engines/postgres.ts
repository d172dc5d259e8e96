/**
 * PostgreSQL, and what speaks its protocol, by pg with a pool. Statements that are kept are prepared under a name once a
 * connection. A lost connection fails what ran on it; the pool opens others by itself.
 * Sources: node-postgres, Pool and Queries; PostgreSQL, Extended Query.
 */
import { DeclarationError } from '../../errors/declaration-error.js'
import type { Log } from '../../http/log.js'
import type { Catalogue } from '../catalogue.js'
import { EngineFault } from '../engine.js'
import type {
  Dialect,
  Engine,
  QueryResult,
  Row,
  Statement,
  Runner,
  SchemaOptions,
  TransactionRunner,
} from '../engine.js'
import { readPostgresCatalogue } from './postgres-catalogue.js'
import { createPostgresDialect } from './postgres-dialect.js'
import { toPostgresFault } from './postgres-faults.js'

export interface PostgresOptions {
  /** `postgres://user:password@host:5432/name`, with whatever parameters pg understands. */
  readonly url: string
  /** Most connections at once. Default 10. */
  readonly connections?: number
  /** Milliseconds to wait for a connection. Default 5,000. */
  readonly connectTimeout?: number
  /** Gets what happens to connections that nobody uses at the moment. */
  readonly log: Log
}

/** The part of pg that is used. */
interface Driver {
  readonly Pool: new (options: object) => Pool
  readonly types: { getTypeParser(oid: number, format?: string): unknown }
}
interface Queryable {
  query(query: Query | string): Promise<Result>
}
interface Pool extends Queryable {
  connect(): Promise<Client>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
}
interface Client extends Queryable {
  /** @param broken the connection is not used again */
  release(broken?: boolean): void
}
interface Query {
  readonly name?: string | undefined
  readonly text: string
  readonly values: readonly unknown[]
  readonly rowMode: 'array'
}
interface Result {
  readonly rows: Row[]
  readonly rowCount: number | null
  readonly fields: readonly { readonly name: string }[]
}

/** @throws {DeclarationError} no driver, no server, no access */
export async function openPostgres(options: PostgresOptions): Promise<Engine> {
  const driver = await loadDriver()
  const pool = createPool(driver, options)
  try {
    const { rows } = await pool.query({
      text: `select 1 from pg_collation where collname = 'und-x-icu'`,
      values: [],
      rowMode: 'array',
    })
    return new PostgresEngine(pool, createPostgresDialect(rows.length > 0))
  } catch (cause) {
    await pool.end()
    throw toBootFault(options.url, cause)
  }
}

function createPool(driver: Driver, options: PostgresOptions): Pool {
  const { url, connections = 10, connectTimeout = 5000, log } = options
  const pool = new driver.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectTimeout,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    application_name: 'filigree',
    // JSON stays text, the record's own code reads it; the rest is pg's: bigint as text, bytea as Buffer.
    types: {
      getTypeParser: (oid: number, format?: string) =>
        jsonTypes.has(oid) ? asText : driver.types.getTypeParser(oid, format),
    },
  })
  // Without a listener the loss of an idle connection would end the process.
  pool.on('error', (error) => {
    log.warn({ err: error }, 'a connection to the database was lost')
  })
  return pool
}

/** `json` and `jsonb`. */
const jsonTypes: ReadonlySet<number> = new Set([114, 3802])

function asText(text: string): string {
  return text
}

/** Runs statements on a pool or on one connection of it. */
class Connection {
  readonly #target: Queryable
  readonly #names: StatementNames

  constructor(target: Queryable, names: StatementNames) {
    this.#target = target
    this.#names = names
  }

  async run(statement: Statement, values: readonly unknown[], keep: boolean): Promise<Result> {
    const text = statement.sql
    const name = keep ? this.#names.of(text) : undefined
    try {
      return await this.#target.query({ name, text, values, rowMode: 'array' })
    } catch (error) {
      if (name !== undefined && isStale(error)) this.#names.giveUp(text)
      throw toPostgresFault(error)
    }
  }

  async script(sql: string): Promise<void> {
    try {
      await this.#target.query(sql)
    } catch (error) {
      throw toPostgresFault(error)
    }
  }
}

/** Names for prepared statements, the same for the same text. Servers keep them: their number has an end. */
class StatementNames {
  readonly #names = new Map<string, string | undefined>()

  of(sql: string): string | undefined {
    if (this.#names.has(sql) || this.#names.size >= mostNames) return this.#names.get(sql)
    const name = `filigree_${this.#names.size}`
    this.#names.set(sql, name)
    return name
  }

  /** From now on the text is sent whole each time. */
  giveUp(sql: string): void {
    this.#names.set(sql, undefined)
  }
}

/** What was prepared is outdated by a change of the schema, or lies on a connection that a proxy has swapped. */
function isStale(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return code === '26000' || code === '42P05' || String(message).startsWith('cached plan')
}

const mostNames = 1000

/** Any number that is ours alone: who changes the schema holds it. */
const schemaLock = 4_163_170_431

class PostgresEngine implements Engine {
  readonly dialect: Dialect
  readonly #pool: Pool
  readonly #names = new StatementNames()
  readonly #connection: Connection

  constructor(pool: Pool, dialect: Dialect) {
    this.#pool = pool
    this.dialect = dialect
    this.#connection = new Connection(pool, this.#names)
  }

  async rows(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return (await this.#run(statement, values, true)).rows
  }

  async first(statement: Statement, values: readonly unknown[]): Promise<Row | undefined> {
    return (await this.#run(statement, values, true)).rows[0]
  }

  async change(statement: Statement, values: readonly unknown[]): Promise<number> {
    return (await this.#run(statement, values, true)).rowCount ?? 0
  }

  async query(statement: Statement, values: readonly unknown[]): Promise<QueryResult> {
    return toQueryResult(await this.#run(statement, values, false))
  }

  script(sql: string): Promise<void> {
    return this.#connection.script(sql)
  }

  async begin({ isolation, schema }: SchemaOptions = {}): Promise<TransactionRunner> {
    const client = await this.#connect()
    const connection = new Connection(client, this.#names)
    try {
      await connection.script(
        isolation === undefined ? 'begin' : `begin isolation level ${isolation}`,
      )
      if (schema === true) await connection.script(`select pg_advisory_xact_lock(${schemaLock})`)
      return new PostgresTransaction(client, connection)
    } catch (error) {
      client.release(true)
      throw error
    }
  }

  catalogue(runner: Runner): Promise<Catalogue> {
    return readPostgresCatalogue(runner)
  }

  close(): Promise<void> {
    return this.#pool.end()
  }

  /** Reading is tried once more where the connection was found dead, or what was prepared on it outdated. */
  async #run(statement: Statement, values: readonly unknown[], keep: boolean): Promise<Result> {
    try {
      return await this.#connection.run(statement, values, keep)
    } catch (error) {
      if (!(error instanceof EngineFault)) throw error
      const lost = error.kind === 'unavailable' && !statement.writes
      // It was refused before it ran, whatever it would have done.
      if (!lost && !isStale(error.cause)) throw error
      return this.#connection.run(statement, values, keep)
    }
  }

  async #connect(): Promise<Client> {
    try {
      return await this.#pool.connect()
    } catch (error) {
      throw toPostgresFault(error)
    }
  }
}

class PostgresTransaction implements TransactionRunner {
  readonly #client: Client
  readonly #connection: Connection
  #isOver = false

  constructor(client: Client, connection: Connection) {
    this.#client = client
    this.#connection = connection
  }

  async rows(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return (await this.#living().run(statement, values, true)).rows
  }

  async first(statement: Statement, values: readonly unknown[]): Promise<Row | undefined> {
    return (await this.#living().run(statement, values, true)).rows[0]
  }

  async change(statement: Statement, values: readonly unknown[]): Promise<number> {
    return (await this.#living().run(statement, values, true)).rowCount ?? 0
  }

  async query(statement: Statement, values: readonly unknown[]): Promise<QueryResult> {
    return toQueryResult(await this.#living().run(statement, values, false))
  }

  async script(sql: string): Promise<void> {
    await this.#living().script(sql)
  }

  commit(): Promise<void> {
    return this.#end('commit')
  }

  async rollback(): Promise<void> {
    // A connection that cannot roll back is closed, which rolls back.
    await this.#end('rollback').catch(() => undefined)
  }

  async #end(sql: string): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    try {
      await this.#connection.script(sql)
      this.#client.release()
    } catch (error) {
      this.#client.release(true)
      throw error
    }
  }

  #living(): Connection {
    if (this.#isOver) throw new EngineFault('other', 'The transaction is over.')
    return this.#connection
  }
}

function toQueryResult({ rows, fields, rowCount }: Result): QueryResult {
  return { names: fields.map(({ name }) => name), rows, changes: rowCount ?? 0 }
}

async function loadDriver(): Promise<Driver> {
  try {
    // Typed here, by the part that is used: no types of its own are needed to compile.
    const name = 'pg'
    const { default: driver } = (await import(name)) as { default: Driver }
    return driver
  } catch (cause) {
    const error = new DeclarationError([
      {
        code: 'DATABASE_DRIVER_MISSING',
        message: 'A database at postgres:// needs the package pg, which is not installed.',
        remedy: 'Run: npm install pg',
      },
    ])
    error.cause = cause
    throw error
  }
}

/** The address without its password, which no report may show. */
function toBootFault(url: string, cause: unknown): DeclarationError {
  const reason = cause instanceof Error && cause.message !== '' ? cause.message : String(cause)
  const where = URL.canParse(url) ? new URL(url) : undefined
  const error = new DeclarationError([
    {
      code: 'DATABASE_UNREACHABLE',
      message: `The database ${where?.host ?? ''}${where?.pathname ?? ''} cannot be reached: ${reason}.`,
      remedy: 'Check DATABASE_URL and that the server is up.',
    },
  ])
  error.cause = cause
  return error
}
