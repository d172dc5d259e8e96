/**
 * PostgreSQL, and what speaks its protocol, by pg with a pool. Statements that are kept are prepared under a name once a
 * connection. A lost connection fails what ran on it; the pool opens others by itself.
 * Sources: node-postgres, Pool and Queries; PostgreSQL, Extended Query.
 */
import type { BeginOptions } from '../begin-options.js'
import type { Catalogue } from '../../schema/catalogue.js'
import { EngineFault } from '../engine.js'
import type {
  ClientReading,
  Dialect,
  Engine,
  EngineChannel,
  PoolState,
  QueryResult,
  Row,
  Statement,
  Runner,
  SchemaChangeOptions,
  TransactionRunner,
} from '../engine.js'
import { readPostgresCatalogue } from './catalogue.js'
import { ClientReads, ReadShares, type ReadParts } from './client-reads.js'
import { createPostgresChannel } from './channel.js'
import {
  Connection,
  createPool,
  loadDriver,
  toBootFault,
  toQueryResult,
  type Driver,
  type Pool,
  type PostgresOptions,
  type Result,
} from './connection.js'
import { createPostgresDialect } from './dialect.js'
import { tookTooLong } from './faults.js'
import { PoolQueue } from './pool-queue.js'
import { changePostgresSchema } from './schema-change.js'
import { readProcessId } from './session.js'
import { readServerTraits, type ServerTraits } from './server-traits.js'
import { mostAttempts, stalenessOf, StatementNames } from './statement-names.js'
import { readPostgresSizes } from './table-sizes.js'
import { beginStatement, letGo, PostgresTransaction } from './transaction.js'

/** @throws {DeclarationError} no driver, no server, no access */
export async function openPostgres(options: PostgresOptions): Promise<Engine> {
  const driver = await loadDriver()
  const names = new StatementNames(options.prepare === false)
  const pool = createPool(driver, options, names)
  try {
    const { rows } = await pool.query({
      text: abilitiesSql,
      values: [],
      rowMode: 'array',
    })
    const traits = await readServerTraits(pool, options)
    const isPooled = await seesPooler(pool)
    if (isPooled && options.direct === undefined) options.log.warn({}, noDirectAddress)
    return new PostgresEngine({
      driver,
      options,
      pool,
      names,
      isPooled,
      traits,
      dialect: createPostgresDialect(rows[0]?.[0] === true, rows[0]?.[1] === true),
      channel: await createPostgresChannel(driver, pool, options),
    })
  } catch (cause) {
    await pool.end()
    // A pooler that takes no time-out among a connection's parameters has time-outs of its own.
    const isRefused = /unsupported startup parameter.*(statement|lock)_timeout/.test(String(cause))
    if (isRefused && options.lockTimeout !== 0) {
      return openPostgres({ ...options, statementTimeout: 0, lockTimeout: 0 })
    }
    throw toBootFault(options.url, cause)
  }
}

/** Letters of all languages; trigrams, which whoever may create in the database may add where the server has them. */
const abilitiesSql = `select exists (select from pg_collation where collname = 'und-x-icu'),
  exists (select from pg_extension where extname = 'pg_trgm')
    or (has_database_privilege(current_database(), 'create')
      and exists (select from pg_available_extensions where name = 'pg_trgm'))`

const noDirectAddress =
  'a pooler stands before the database: set DATABASE_DIRECT_URL to an address around it, for events between processes and migrations'

/** Whether the server's process is another than the one that the driver was told: a pooler may lend it to others. */
async function seesPooler(pool: Pool): Promise<boolean> {
  const client = await pool.connect()
  try {
    return (await readProcessId(client)) !== client.processID
  } finally {
    client.release()
  }
}

interface EngineParts {
  readonly driver: Driver
  readonly options: PostgresOptions
  readonly pool: Pool
  readonly names: StatementNames
  readonly isPooled: boolean
  readonly traits: ServerTraits
  readonly dialect: Dialect
  readonly channel: EngineChannel | undefined
}

const unprepared = new StatementNames(true)

class PostgresEngine implements Engine {
  readonly dialect: Dialect
  readonly driver = 'pg'
  readonly isReadOnly: boolean
  readonly channel: EngineChannel | undefined
  readonly changesPiecemeal = true
  readonly #parts: EngineParts
  readonly #connection: Connection
  /** Prepared statements may be gone, since others use the connections too: transactions, which that ends, send texts. */
  #isPooled: boolean
  readonly #readParts: ReadParts
  readonly #queue: PoolQueue

  constructor(parts: EngineParts) {
    this.#parts = parts
    this.dialect = parts.dialect
    this.isReadOnly = parts.traits.isReadOnly
    this.channel = parts.channel
    this.#isPooled = parts.isPooled
    this.#connection = new Connection(parts.pool, parts.names)
    const { driver, options, pool, names } = parts
    this.#queue = new PoolQueue(pool, options.connectTimeout)
    this.#readParts = {
      engine: this,
      queue: this.#queue,
      names,
      shares: new ReadShares(options.connections ?? 10),
      cancelling: driver.Connection,
      heedStale: (fault) => this.#heedStale(fault),
    }
  }

  clientReads(reading: ClientReading): Runner {
    return new ClientReads(reading, this.#readParts)
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

  async begin({ isolation, patience }: BeginOptions = {}): Promise<TransactionRunner> {
    // A replica takes no `serializable`, and nobody can be in the way of what only reads.
    const begin = beginStatement(this.isReadOnly && isolation ? 'repeatable read' : isolation)
    const client = await this.#queue.take(patience)
    const connection = new Connection(client, this.#isPooled ? unprepared : this.#parts.names)
    try {
      await connection.script(begin)
      return new PostgresTransaction(client, connection, () => (this.#isPooled = true))
    } catch (error) {
      letGo(client, true)
      throw error
    }
  }

  changeSchema<T>(
    work: (runner: Runner) => Promise<T>,
    { atomic = true }: SchemaChangeOptions = {},
  ): Promise<T> {
    const { driver, options } = this.#parts
    return changePostgresSchema(driver, options, work, atomic)
  }

  catalogue(runner: Runner): Promise<Catalogue> {
    return readPostgresCatalogue(runner)
  }

  tableSizes(tables: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return readPostgresSizes(this, tables)
  }

  pool(): PoolState {
    const { pool, options } = this.#parts
    const { totalCount: open, idleCount: idle, waitingCount: waiting } = pool
    return { most: options.connections ?? 10, open, idle, waiting }
  }

  close(): Promise<void> {
    return this.#parts.pool.end()
  }

  async #run(statement: Statement, values: readonly unknown[], keep: boolean): Promise<Result> {
    try {
      return await this.#connection.run(statement, values, keep)
    } catch (error) {
      return this.#queue
        .again(error, () => this.#connection.run(statement, values, keep))
        .catch((failure: unknown) => this.#runAgain(statement, values, failure))
    }
  }

  /**
   * Reading is tried once more where the connection was found dead; anything where what was prepared is stale, which is
   * refused before it runs. A pooler may answer each attempt by another server connection: the last needs nothing there.
   */
  async #runAgain(
    statement: Statement,
    values: readonly unknown[],
    failure: unknown,
  ): Promise<Result> {
    let error = failure
    for (let attempt = 2; attempt <= mostAttempts; attempt++) {
      if (!(error instanceof EngineFault)) throw error
      const isStale = this.#heedStale(error)
      const isLost = error.kind === 'unavailable' && !statement.writes && !tookTooLong(error)
      if (!isStale && !(isLost && attempt === 2)) throw error
      try {
        return await this.#connection.run(statement, values, attempt < mostAttempts)
      } catch (next) {
        error = next
      }
    }
    throw error
  }

  #heedStale({ cause }: EngineFault): boolean {
    const staleness = stalenessOf(cause)
    if (staleness === 'missing' || staleness === 'there already') this.#isPooled = true
    return staleness !== undefined
  }
}
