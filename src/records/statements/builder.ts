/** Kysely, set up for an engine: it is `database.kysely`. Loaded when a database is opened. */

import type {
  RootOperationNode,
  CompiledQuery,
  ConnectionProvider,
  DatabaseConnection,
  Dialect,
  Driver,
  Expression,
  ExpressionBuilder,
  Kysely,
  KyselyPlugin,
  QueryExecutor,
  QueryId,
  QueryResult as KyselyResult,
  SqlBool,
  TransactionSettings,
} from 'kysely'
import {
  anyTable,
  type Statement,
  type StatementKind,
  isWrite,
} from '../../engines/contract/statement.js'
import { attempt } from '../../core/maybe-promise.js'
import type { Isolation } from '../../core/transaction.js'
import type { Engine, QueryResult, Runner } from '../../engines/contract/engine.js'
import { toTableName } from '../model/generated-names.js'
import type { Table } from '../model/table.js'
import { throwUnavailable } from './client-errors.js'
import { TableNames } from './table-names.js'
import { isDecimalNode, resolveDecimals } from './kysely-decimals.js'

/** A transaction that is begun and ended by separate calls. */
export interface BegunTransaction {
  runner(): Runner
  commit(): Promise<void>
  rollback(): Promise<void>
}

const kinds: Readonly<Record<string, StatementKind>> = {
  SelectQueryNode: 'select',
  InsertQueryNode: 'insert',
  UpdateQueryNode: 'update',
  DeleteQueryNode: 'delete',
}

/** @param query the query in Kysely's form */
function applicationStatement(sql: string, query: RootOperationNode, names: TableNames): Statement {
  const found = new QueryParts(query)
  const kind = kindOf(query, found)
  const isKnown = kind !== 'unknown' && !found.writesOut
  const named = found.tables.map((name) => names.recordNameOf(name))
  const tables = isKnown ? named : [...named, anyTable]
  return { sql, kind, tables, mayWait: true, for: 'program' }
}

function kindOf(query: RootOperationNode, { changes }: QueryParts): StatementKind {
  const kind = kinds[query.kind] ?? 'unknown'
  if (kind === 'select' && changes) return 'unknown'
  return 'onConflict' in query && query.onConflict !== undefined ? 'upsert' : kind
}

/** Visits the parts of a query. */
class QueryParts {
  readonly tables: string[] = []
  /** True if a part may name unknown tables. */
  writesOut = false
  /** True if a part changes something: `with changed as (update …)`. */
  changes = false

  constructor(query: RootOperationNode) {
    this.#visit(query)
  }

  #visit(node: unknown): void {
    if (Array.isArray(node)) {
      for (const one of node) this.#visit(one)
      return
    }
    if (typeof node !== 'object' || node === null) return
    const { kind } = node as { readonly kind?: unknown }
    if (typeof kind !== 'string') return
    // A reference may name an alias, which is not a table.
    if (kind === 'ReferenceNode') return
    if (kind === 'TableNode') this.#addTable(node as TableNode)
    else if (kind === 'RawNode' && !isDecimalNode(node)) this.writesOut = true
    else if (kinds[kind] !== undefined && kind !== 'SelectQueryNode') this.changes = true
    // The direction of an order is written out by Kysely itself.
    for (const [name, part] of Object.entries(node)) if (name !== 'direction') this.#visit(part)
  }

  #addTable({ table: { schema, identifier } }: TableNode): void {
    const name = toTableName(schema?.name, identifier.name)
    if (!this.tables.includes(name)) this.tables.push(name)
  }
}

interface TableNode {
  readonly table: {
    readonly schema?: { readonly name: string }
    readonly identifier: { readonly name: string }
  }
}

/**
 * Tables by name, with rows as they are in the database. To type your tables: `database.kysely.withTables<MyTables>()`.
 */
export type QueryBuilder = Kysely<Record<string, Record<string, unknown>>>

/** Builds conditions on the rows of a table. */
export type RowExpressions = ExpressionBuilder<Record<string, Record<string, unknown>>, string>
export type RowCondition = Expression<SqlBool>

/** The result of a statement in a template. */
export interface SqlResult<Row> {
  /** The rows that the statement returns, as they are in the database. */
  readonly rows: Row[]
  /** The number of rows that an insert, update or delete has written. */
  readonly count: number
}

/**
 * Runs a statement: ``await sql`update item set price = ${price}` ``. Values become parameters. Fragments of Kysely's `sql`,
 * such as `sql.ref(name)`, become a part of the statement.
 */
export type SqlTag = <Row = Record<string, unknown>>(
  strings: TemplateStringsArray,
  ...values: unknown[]
) => Promise<SqlResult<Row>>

/** @returns a template tag whose statements run like the queries of the builder */
export async function createSqlTag(builder: QueryBuilder): Promise<SqlTag> {
  const { sql } = await import('kysely')
  return async <Row>(
    strings: TemplateStringsArray,
    ...values: unknown[]
  ): Promise<SqlResult<Row>> => {
    const { rows, numAffectedRows = 0n } = await sql<Row>(strings, ...values).execute(builder)
    return { rows, count: Number(numAffectedRows) }
  }
}

/** Where the query builder's statements and transactions go. */
export interface BuilderHost {
  /** The tables of all records. */
  tables(): ReadonlySet<Table>
  /** The current runner for a query: the engine, or the transaction that it is part of. */
  runner(): Runner
  /** Begins a transaction, or a savepoint in the open one. All further calls of the caller belong to it. */
  begin(isolation: Isolation | undefined): Promise<BegunTransaction>
  /** A statement was run that may have changed something. */
  wrote(statement: Statement, result: QueryResult): void
}

/** The query builder of a database. */
export async function createBuilder(engine: Engine, host: BuilderHost): Promise<QueryBuilder> {
  const kysely = await import('kysely')
  const family = engine.dialect.product.kysely
  const names = new TableNames(engine.dialect, host)
  const driver = new EngineDriver(engine, host, names)
  const dialect: Dialect = {
    createAdapter: () => new kysely[`${family}Adapter`](),
    createDriver: () => driver,
    createIntrospector: (db) => new kysely[`${family}Introspector`](db),
    createQueryCompiler: () => new kysely[`${family}QueryCompiler`](),
  }
  const Executor = createExecutorClass(kysely, dialect, (query) =>
    names.rename(resolveDecimals(query, engine.dialect, host.tables())),
  )
  const executor = new Executor(new kysely.DefaultConnectionProvider(driver))
  return new kysely.Kysely({ config: { dialect }, dialect, driver, executor })
}

/**
 * An executor that gets each connection in a new turn of the microtask queue. Otherwise `beginTransaction` may run in the
 * caller's own synchronous code, and the caller's later code would belong to the transaction too.
 */
function createExecutorClass(
  { DefaultQueryExecutor }: typeof import('kysely'),
  dialect: Dialect,
  resolve: <T extends RootOperationNode>(query: T) => T,
): new (provider: ConnectionProvider) => QueryExecutor {
  const compiler = dialect.createQueryCompiler()
  const adapter = dialect.createAdapter()
  return class Executor extends DefaultQueryExecutor {
    readonly #provider: ConnectionProvider

    constructor(provider: ConnectionProvider, plugins: readonly KyselyPlugin[] = []) {
      super(compiler, adapter, provider, [...plugins])
      this.#provider = provider
    }

    /** After the plugins, which may rename tables. */
    override transformQuery<T extends RootOperationNode>(query: T, queryId: QueryId): T {
      return resolve(super.transformQuery(query, queryId))
    }

    override async provideConnection<T>(
      consumer: (connection: DatabaseConnection) => Promise<T>,
    ): Promise<T> {
      await Promise.resolve()
      return super.provideConnection(consumer)
    }

    override withConnectionProvider(provider: ConnectionProvider): Executor {
      return new Executor(provider, this.plugins)
    }

    override withPlugins(plugins: readonly KyselyPlugin[]): Executor {
      return new Executor(this.#provider, [...this.plugins, ...plugins])
    }

    override withPlugin(plugin: KyselyPlugin): Executor {
      return new Executor(this.#provider, [...this.plugins, plugin])
    }

    override withPluginAtFront(plugin: KyselyPlugin): Executor {
      return new Executor(this.#provider, [plugin, ...this.plugins])
    }

    override withoutPlugins(): Executor {
      return new Executor(this.#provider)
    }
  }
}

/** Runs the application's own queries on the engine. They fail with 503 if a later attempt may succeed. */
class EngineDriver implements Driver {
  readonly #engine: Engine
  readonly #host: BuilderHost
  readonly #names: TableNames

  constructor(engine: Engine, host: BuilderHost, names: TableNames) {
    this.#engine = engine
    this.#host = host
    this.#names = names
  }

  init(): Promise<void> {
    return Promise.resolve()
  }

  acquireConnection(): Promise<EngineConnection> {
    return Promise.resolve(new EngineConnection(this.#engine, this.#host, this.#names))
  }

  /**
   * Not async, because code after the caller's `await` must stay in the transaction that is entered synchronously.
   */
  beginTransaction(
    connection: EngineConnection,
    { isolationLevel }: TransactionSettings,
  ): Promise<void> {
    return connection.begin(isolationLevel as Isolation | undefined)
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
  readonly #host: BuilderHost
  readonly #names: TableNames
  #transaction: BegunTransaction | undefined

  constructor(engine: Engine, host: BuilderHost, names: TableNames) {
    this.#engine = engine
    this.#host = host
    this.#names = names
  }

  begin(isolation: Isolation | undefined): Promise<void> {
    return this.#host.begin(isolation).then((transaction) => {
      this.#transaction = transaction
    }, throwUnavailable)
  }

  async end(last: (transaction: BegunTransaction) => Promise<void>): Promise<void> {
    const transaction = this.#transaction
    try {
      if (transaction !== undefined) await last(transaction).catch(throwUnavailable)
    } finally {
      this.#transaction = undefined
    }
  }

  async executeQuery<R>({ sql, parameters, query }: CompiledQuery): Promise<KyselyResult<R>> {
    const statement = applicationStatement(sql, query, this.#names)
    const values = parameters.map(this.#engine.dialect.values.toDriver)
    const runner = this.#transaction?.runner() ?? this.#host.runner()
    const result = await attempt(() => runner.run(statement, values, 'all'), throwUnavailable)
    if (isWrite(statement)) this.#host.wrote(statement, result)
    return toKyselyResult<R>(result)
  }

  /** No engine has cursors. */
  async *streamQuery<R>(): AsyncIterableIterator<KyselyResult<R>> {
    await Promise.reject(new Error('database.kysely does not stream. Use limit and offset.'))
  }
}

function toKyselyResult<R>({ names, rows, changes: count }: QueryResult): KyselyResult<R> {
  const objects = rows.map((row) =>
    Object.fromEntries(names.map((name, index) => [name, row[index]])),
  )
  return { rows: objects as R[], numAffectedRows: BigInt(count) }
}
