/**
 * Kysely, set up for an engine: it writes the SQL of records, and is `database.kysely`. Loaded when a database is
 * opened.
 */
import type {
  CompiledQuery,
  DatabaseConnection,
  Driver,
  Kysely,
  QueryResult as KyselyResult,
  RawBuilder,
  Sql,
  TransactionSettings,
} from 'kysely'
import { attempt } from '../../core/later.js'
import type {
  Engine,
  QueryResult,
  Runner,
  Statement,
  TransactionRunner,
} from '../../engines/contract/engine.js'
import type { StatementKind } from '../../engines/contract/statement.js'
import { applicationStatement, tablesIn } from './application-statement.js'
import { refuseUnavailable } from './write-faults.js'

export type { RawBuilder, Sql } from 'kysely'

/**
 * Tables by name, with rows as they are in the database. To type your tables: `database.kysely.withTables<MyTables>()`.
 */
export type QueryBuilder = Kysely<Record<string, Record<string, unknown>>>

/**
 * What is known of a record's statement besides its text. Its tables are found by the builder, because each was written with
 * `sql.table`.
 */
export interface StatementFacts extends Pick<Statement, 'together' | 'oneRow'> {
  /** The record's table that is asked for, or changed. */
  readonly table: string
  /** Default `select`. */
  readonly kind?: Exclude<StatementKind, 'script' | 'unknown'>
  /** Default: all but `select` may. */
  readonly mayWait?: boolean
  readonly bound?: SlotBound | undefined
}

/** As `Statement.bound`, from the values of a run before they are arranged. */
export type SlotBound = number | ((values: readonly unknown[]) => number)

export interface Builder {
  /** The query builder that applications use. */
  readonly kysely: QueryBuilder
  /** Kysely's template tag: fragments may contain fragments; everything else becomes a value. */
  readonly sql: Sql
  /** Turns a fragment whose values are all `Slot`s into a statement that can be kept. */
  compile(fragment: RawBuilder<unknown>, facts: StatementFacts): Plan
  /** The SQL of a fragment without values. */
  write(fragment: RawBuilder<unknown>): string
}

/** Stands for a value that each run supplies: the one at this place of the run's values. */
export class Slot {
  readonly index: number

  constructor(index: number) {
    this.index = index
  }
}

/** A statement, and where its values come from. */
export interface Plan {
  readonly statement: Statement
  /** For each placeholder the place of its value; `undefined` if they are in that order. */
  readonly order: readonly number[] | undefined
}

/** A run's values in the order of the plan's placeholders. */
export function arrange(plan: Plan, values: readonly unknown[]): readonly unknown[] {
  return plan.order === undefined ? values : plan.order.map((place) => values[place])
}

/**
 * @param engine runs queries of the query builder outside its transactions
 * @param runner the current runner for a query: the engine, or the transaction that it is part of
 */
export async function createBuilder(engine: Engine, runner: () => Runner): Promise<Builder> {
  const kysely = await import('kysely')
  const family = engine.dialect.kysely
  const builder: QueryBuilder = new kysely.Kysely({
    dialect: {
      createAdapter: () => new kysely[`${family}Adapter`](),
      createDriver: () => new EngineDriver(engine, runner),
      createIntrospector: (db) => new kysely[`${family}Introspector`](db),
      createQueryCompiler: () => new kysely[`${family}QueryCompiler`](),
    },
  })
  return {
    kysely: builder,
    sql: kysely.sql,
    write: (fragment) => fragment.compile(builder).sql,
    compile: (fragment, facts) => {
      const { sql, parameters, query } = fragment.compile(builder)
      const order = parameters.map((slot) => (slot as Slot).index)
      const isInOrder = order.every((place, index) => place === index)
      return Object.freeze({
        statement: toStatement(sql, facts, tablesIn(query), isInOrder ? undefined : order),
        order: isInOrder ? undefined : order,
      })
    },
  }
}

function toStatement(
  sql: string,
  { table, kind = 'select', mayWait = kind !== 'select', bound, together, oneRow }: StatementFacts,
  found: readonly string[],
  order: readonly number[] | undefined,
): Statement {
  const tables = Object.freeze([...new Set([table, ...found])])
  const arranged = arrangedBound(bound, order)
  return Object.freeze({
    sql,
    kind,
    tables,
    mayWait,
    bound: arranged,
    for: 'client',
    together,
    oneRow,
  })
}

/** The bound of values that were arranged in this order. */
function arrangedBound(
  bound: SlotBound | undefined,
  order: readonly number[] | undefined,
): Statement['bound'] {
  if (order === undefined || typeof bound !== 'function') return bound
  return (arranged) => {
    const values: unknown[] = []
    for (const [place, slot] of order.entries()) values[slot] = arranged[place]
    return bound(values)
  }
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
