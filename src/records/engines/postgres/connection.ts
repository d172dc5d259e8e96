/** Connections to PostgreSQL by pg. Sources: node-postgres, Pool and Queries; PostgreSQL, Extended Query. */
import { DeclarationError } from '../../../errors/declaration-error.js'
import type { Log } from '../../../core/log.js'
import type { QueryResult, Row, Statement } from '../engine.js'
import type { CancelConnection } from './cancel-statement.js'
import { toPostgresFault } from './faults.js'
import type { Listening, Locking } from './server-traits.js'
import { stalenessOf, type StatementNames } from './statement-names.js'

export interface PostgresOptions {
  /** `postgres://user:password@host:5432/name`, with whatever parameters pg understands. */
  readonly url: string
  /** Most connections at once. Default 10. */
  readonly connections?: number
  /** Milliseconds to wait for a connection. Default 5,000. */
  readonly connectTimeout?: number
  /** The same database around a pooler, for what needs a session: LISTEN, changes of the schema. Default: `url`. */
  readonly direct?: string
  /** Statements are prepared once a connection. Default true. */
  readonly prepare?: boolean
  /** Milliseconds to wait for others who change the schema or use a table that is changed. Default 60,000. */
  readonly schemaTimeout?: number
  /** Milliseconds after which the server ends a statement, unless the address says otherwise; 0 is never. Default 30,000. */
  readonly statementTimeout?: number | undefined
  /** Milliseconds that a statement waits for a lock, unless the address says otherwise; 0 is without end. Default 10,000. */
  readonly lockTimeout?: number
  /** How changes of other processes are heard, where the server need not be asked. */
  readonly listen?: Listening | undefined
  /** How the schema is locked, where the server need not be asked. */
  readonly locks?: Locking | undefined
  /** Gets what happens to connections that nobody uses at the moment. */
  readonly log: Log
}

/** The part of pg that is used. */
export interface Driver {
  readonly Pool: new (options: object) => Pool
  readonly Client: new (options: object) => SingleClient
  readonly Connection: CancelConnection
  readonly types: { getTypeParser(oid: number, format?: string): unknown }
}
export interface Queryable {
  query(query: Query | string): Promise<Result>
}
export interface Pool extends Queryable {
  connect(): Promise<Client>
  end(): Promise<void>
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: Client) => void): unknown
  on(event: 'release', listener: () => void): unknown
}
export interface Client extends Queryable {
  /** By these its statement can be cancelled; null behind what does not tell them. */
  readonly processID: number | null
  readonly secretKey?: unknown
  readonly host?: string
  readonly port?: number
  readonly ssl?: unknown
  /** The protocol below; other implementations of the driver have none. */
  readonly connection?: {
    /** The text of each statement that was prepared here, by its name. */
    readonly parsedStatements: Record<string, string>
    on(event: 'errorMessage', listener: (error: Error) => void): unknown
  }
  /** @param broken the connection is not used again */
  release(broken?: boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}
/** A connection outside the pool. */
export interface SingleClient extends Queryable {
  readonly processID: number | null
  connect(): Promise<void>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: Notification) => void): unknown
}
export interface Notification {
  readonly channel: string
  readonly payload?: string
}
export interface Query {
  readonly name?: string | undefined
  readonly text: string
  readonly values: readonly unknown[]
  readonly rowMode: 'array'
}
export interface Result {
  readonly rows: Row[]
  readonly rowCount: number | null
  readonly fields: readonly { readonly name: string }[]
}

export function createPool(driver: Driver, options: PostgresOptions, names: StatementNames): Pool {
  const { url, connections = 10, connectTimeout = 5000, log } = options
  const { statementTimeout = 30_000, lockTimeout = 10_000 } = options
  const pool = new driver.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectTimeout,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    application_name: 'filigree',
    ...(statementTimeout > 0 ? { statement_timeout: statementTimeout } : {}),
    ...(lockTimeout > 0 ? { lock_timeout: lockTimeout } : {}),
    // JSON stays text, the record's own code reads it; the rest is pg's: bigint as text, bytea as Buffer.
    types: {
      getTypeParser: (oid: number, format?: string) =>
        keptAsText.has(oid) ? asText : driver.types.getTypeParser(oid, format),
    },
  })
  // Without a listener the loss of an idle connection would end the process.
  pool.on('error', (error) => {
    log.warn({ err: error }, 'a connection to the database was lost')
  })
  pool.on('connect', (client) => {
    names.heed(client)
  })
  return pool
}

/** `json` and `jsonb`; `date` and `timestamptz`, of which pg makes a Date: a day would become one at midnight somewhere. */
const keptAsText: ReadonlySet<number> = new Set([114, 3802, 1082, 1184])

function asText(text: string): string {
  return text
}

/** Runs statements on a pool or on one connection of it. */
export class Connection {
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
      if (stalenessOf(error) === 'outdated') this.#names.renew(text)
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

export function toQueryResult({ rows, fields, rowCount }: Result): QueryResult {
  return { names: fields.map(({ name }) => name), rows, changes: rowCount ?? 0 }
}

/** @throws {DeclarationError} the package is not there */
export async function loadDriver(): Promise<Driver> {
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
export function toBootFault(url: string, cause: unknown): DeclarationError {
  const { message } = (cause ?? {}) as { message?: unknown }
  const reason = typeof message === 'string' && message !== '' ? message : String(cause)
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
