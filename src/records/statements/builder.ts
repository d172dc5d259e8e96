/** Kysely, set up for an engine: it is `database.kysely`. Loaded when a database is opened. */
import type {
  CompiledQuery,
  DatabaseConnection,
  Driver,
  Kysely,
  QueryResult as KyselyResult,
  TransactionSettings,
} from 'kysely'
import { attempt } from '../../core/later.js'
import type {
  Engine,
  QueryResult,
  Runner,
  TransactionRunner,
} from '../../engines/contract/engine.js'
import { applicationStatement } from './application-statement.js'
import { refuseUnavailable } from './write-faults.js'

/**
 * Tables by name, with rows as they are in the database. To type your tables: `database.kysely.withTables<MyTables>()`.
 */
export type QueryBuilder = Kysely<Record<string, Record<string, unknown>>>

/**
 * @param engine runs queries of the query builder outside its transactions
 * @param runner the current runner for a query: the engine, or the transaction that it is part of
 */
export async function createBuilder(engine: Engine, runner: () => Runner): Promise<QueryBuilder> {
  const kysely = await import('kysely')
  const family = engine.dialect.kysely
  return new kysely.Kysely({
    dialect: {
      createAdapter: () => new kysely[`${family}Adapter`](),
      createDriver: () => new EngineDriver(engine, runner),
      createIntrospector: (db) => new kysely[`${family}Introspector`](db),
      createQueryCompiler: () => new kysely[`${family}QueryCompiler`](),
    },
  })
}

/** Runs the application's own queries on the engine. */
class EngineDriver implements Driver {
  readonly #engine: Engine
  readonly #runner: () => Runner

  constructor(engine: Engine, runner: () => Runner) {
    this.#engine = engine
    this.#runner = runner
  }

  init(): Promise<void> {
    return Promise.resolve()
  }

  acquireConnection(): Promise<EngineConnection> {
    return Promise.resolve(new EngineConnection(this.#engine, this.#runner()))
  }

  async beginTransaction(
    connection: EngineConnection,
    { isolationLevel }: TransactionSettings,
  ): Promise<void> {
    await connection.begin(
      isolationLevel as 'read committed' | 'repeatable read' | 'serializable' | undefined,
    )
  }

  async commitTransaction(connection: EngineConnection): Promise<void> {
    await connection.end((transaction) => transaction.commit())
  }

  async rollbackTransaction(connection: EngineConnection): Promise<void> {
    await connection.end((transaction) => transaction.rollback())
  }

  releaseConnection(): Promise<void> {
    return Promise.resolve()
  }

  destroy(): Promise<void> {
    return Promise.resolve()
  }
}

class EngineConnection implements DatabaseConnection {
  readonly #engine: Engine
  readonly #runner: Runner
  #transaction: TransactionRunner | undefined

  constructor(engine: Engine, runner: Runner) {
    this.#engine = engine
    this.#runner = runner
  }

  async begin(isolation: 'read committed' | 'repeatable read' | 'serializable' | undefined) {
    this.#transaction = await attempt(() => this.#engine.begin({ isolation }), refuseUnavailable)
  }

  async end(last: (transaction: TransactionRunner) => Promise<void>): Promise<void> {
    const transaction = this.#transaction
    this.#transaction = undefined
    if (transaction !== undefined) await last(transaction).catch(refuseUnavailable)
  }

  async executeQuery<R>({ sql, parameters, query }: CompiledQuery): Promise<KyselyResult<R>> {
    const statement = applicationStatement(sql, query)
    const values = parameters.map(this.#engine.dialect.toDriver)
    const runner = this.#transaction ?? this.#runner
    return toKyselyResult<R>(
      await attempt(() => runner.query(statement, values), refuseUnavailable),
    )
  }

  /** No engine has cursors. */
  async *streamQuery<R>(): AsyncIterableIterator<KyselyResult<R>> {
    await Promise.reject(new Error('database.kysely does not stream. Use limit and offset.'))
  }
}

/** The application's own statements fail as those of repositories do: with 503 if a later attempt may succeed. */
function toKyselyResult<R>({ names, rows, changes }: QueryResult): KyselyResult<R> {
  const objects = rows.map((row) =>
    Object.fromEntries(names.map((name, index) => [name, row[index]])),
  )
  return { rows: objects as R[], numAffectedRows: BigInt(changes) }
}
