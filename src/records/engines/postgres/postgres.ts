/**
 * PostgreSQL, and what speaks its protocol, by pg with a pool. Statements that are kept are prepared under a name once a
 * connection. A lost connection fails what ran on it; the pool opens others by itself.
 * Sources: node-postgres, Pool and Queries; PostgreSQL, Extended Query.
 */
import { setTimeout } from 'node:timers/promises'
import type { Catalogue } from '../../schema/catalogue.js'
import { EngineFault } from '../engine.js'
import type {
  Dialect,
  Engine,
  EngineChannel,
  QueryResult,
  Row,
  Statement,
  Runner,
  SchemaOptions,
  TransactionRunner,
} from '../engine.js'
import { readPostgresCatalogue } from './catalogue.js'
import { createPostgresChannel } from './channel.js'
import {
  Connection,
  StatementNames,
  createPool,
  isStale,
  loadDriver,
  toBootFault,
  type Client,
  type Pool,
  type PostgresOptions,
  type Result,
} from './connection.js'
import { createPostgresDialect } from './dialect.js'
import { tookTooLong, toPostgresFault } from './faults.js'

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
    const channel = await createPostgresChannel(driver, pool, options)
    return new PostgresEngine(pool, createPostgresDialect(rows.length > 0), channel)
  } catch (cause) {
    await pool.end()
    throw toBootFault(options.url, cause)
  }
}

/** Any number that is ours alone: who changes the schema holds it. */
const schemaLock = 4_163_170_431

/** Asks again and again: who waits in a statement is waited for by `create index concurrently`, which holds the lock. */
async function takeSchema(
  connection: Connection,
  take: 'pg_try_advisory_xact_lock' | 'pg_try_advisory_lock',
): Promise<void> {
  const statement = { sql: `select ${take}(${schemaLock})`, writes: true }
  while ((await connection.run(statement, [], false)).rows[0]?.[0] !== true) await setTimeout(50)
}

class PostgresEngine implements Engine {
  readonly dialect: Dialect
  readonly channel: EngineChannel | undefined
  readonly #pool: Pool
  readonly #names = new StatementNames()
  readonly #connection: Connection

  constructor(pool: Pool, dialect: Dialect, channel: EngineChannel | undefined) {
    this.#pool = pool
    this.dialect = dialect
    this.channel = channel
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
    if (isolation !== undefined && !levels.has(isolation))
      throw new TypeError(
        `transaction: no isolation "${isolation}". Levels: ${[...levels].join(', ')}.`,
      )
    const client = await this.#connect()
    const connection = new Connection(client, this.#names)
    try {
      // Who changes the schema has to see what others have done while it waited.
      const level = schema === true ? 'read committed' : isolation
      await connection.script(level === undefined ? 'begin' : `begin isolation level ${level}`)
      if (schema === true) await takeSchema(connection, 'pg_try_advisory_xact_lock')
      return new PostgresTransaction(client, connection, { commit: 'commit', rollback: 'rollback' })
    } catch (error) {
      letGo(client, true)
      throw error
    }
  }

  async hold(): Promise<TransactionRunner> {
    const client = await this.#connect()
    const connection = new Connection(client, this.#names)
    try {
      await takeSchema(connection, 'pg_try_advisory_lock')
    } catch (error) {
      letGo(client, true)
      throw error
    }
    const release = `select pg_advisory_unlock(${schemaLock})`
    return new PostgresTransaction(client, connection, { commit: release, rollback: release })
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
      const lost = error.kind === 'unavailable' && !statement.writes && !tookTooLong(error)
      // It was refused before it ran, whatever it would have done.
      if (!lost && !isStale(error.cause)) throw error
      return this.#connection.run(statement, values, keep)
    }
  }

  async #connect(): Promise<Client> {
    try {
      const client = await this.#pool.connect()
      client.on('error', onLoss)
      return client
    } catch (error) {
      throw toPostgresFault(error)
    }
  }
}

/** Between two statements of a transaction nobody listens, and the loss would end the process; the next statement tells. */
function onLoss(): void {
  return undefined
}

function letGo(client: Client, isBroken: boolean): void {
  client.off('error', onLoss)
  client.release(isBroken)
}

const levels: ReadonlySet<string> = new Set(['read committed', 'repeatable read', 'serializable'])

class PostgresTransaction implements TransactionRunner {
  readonly #client: Client
  readonly #connection: Connection
  readonly #endings: Readonly<Record<'commit' | 'rollback', string>>
  #isOver = false

  constructor(
    client: Client,
    connection: Connection,
    endings: Readonly<Record<'commit' | 'rollback', string>>,
  ) {
    this.#client = client
    this.#endings = endings
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
    return this.#end(this.#endings.commit)
  }

  async rollback(): Promise<void> {
    // A connection that cannot roll back is closed, which rolls back.
    await this.#end(this.#endings.rollback).catch(() => undefined)
  }

  async #end(sql: string): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    try {
      await this.#connection.script(sql)
      letGo(this.#client, false)
    } catch (error) {
      letGo(this.#client, true)
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
