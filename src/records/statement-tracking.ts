/** Publishes the statements of a database as messages of `filigree:statement`, without their values. */
import type {
  Statement,
  Results,
  Engine,
  Runner,
  TransactionRunner,
  Values,
  ResultKind,
} from '../engines/contract/engine.js'
import { anyTable, frameworkQuery, usesFrameworkTable } from '../engines/contract/statement.js'
import { WorkChannel, type WatchedWork } from '../core/diagnostics.js'
import type { MaybePromise } from '../core/maybe-promise.js'
import type { Dialect } from '../engines/contract/dialect.js'
import { createLayer, wrapInOrder } from '../engines/engine-layer.js'
import { areReadsTracked, trackRead } from './tracked-reads.js'

/** A statement of the database. */
export interface StatementEvent extends WatchedWork {
  /** The `Database` that runs the statement. */
  readonly database: object | undefined
  /** The database's name for monitoring, e.g. `postgresql`. */
  readonly system: string
  /** The SQL as sent, with placeholders for the values. */
  readonly sql: string
  /**
   * The kind: `SELECT`, `INSERT`, `UPDATE`, `DELETE`, `UPSERT`, `SCRIPT`, `UNKNOWN` (custom SQL), `BEGIN`, `COMMIT`,
   * `ROLLBACK`, `SAVEPOINT`.
   */
  readonly kind: string
  /** The table of the record that the statement is for, if there is one. */
  readonly table: string | undefined
  /** Every table that it reads or writes, starting with `table`. `*` stands for unknown tables. */
  readonly tables: readonly string[]
}

/** Whether it is a query of the framework: it names no table, or one of the framework. Those of applications name a table or `*`. */
export function isOfFramework({ kind, tables }: Pick<StatementEvent, 'kind' | 'tables'>): boolean {
  return (kind === 'SELECT' && tables.length === 0) || usesFrameworkTable({ tables })
}

const statementEvents = new WorkChannel<StatementEvent>('filigree:statement')

/** The published properties of a statement, or of a step of a transaction. */
interface PublishedStatement {
  readonly sql: string
  readonly kind: string
  readonly tables: readonly string[]
}

export class StatementPublisher {
  /** The database of the published statements, once it exists. */
  database: object | undefined = undefined
  readonly #system: string

  constructor({ name, product: { system = name } }: Dialect) {
    this.#system = system
  }

  run<W extends ResultKind>(
    inner: Runner,
    statement: Statement,
    values: readonly unknown[],
    resultKind: W,
  ): MaybePromise<Results[W]> {
    if (areReadsTracked()) trackRead(this.database, statement, values)
    if (!statementEvents.hasSubscribers) return inner.run(statement, values, resultKind)
    return this.around(statement, () => inner.run(statement, values, resultKind))
  }

  around<T>({ sql, kind, tables }: PublishedStatement, run: () => T): T {
    const { database } = this
    const system = this.#system
    const [first] = tables
    const table = first === anyTable ? undefined : first
    const properties = { database, system, sql, kind: kind.toUpperCase(), table, tables }
    return statementEvents.around({ ...properties, ms: 0, error: undefined }, run)
  }

  /** Publishes a step of a transaction. */
  step<T>(sql: string, run: () => T): T {
    return statementEvents.hasSubscribers ? this.around({ sql, kind: sql, tables: [] }, run) : run()
  }
}

class PublishedRunner<R extends Runner> implements Runner {
  protected readonly inner: R
  protected readonly publisher: StatementPublisher

  constructor(inner: R, publisher: StatementPublisher) {
    this.inner = inner
    this.publisher = publisher
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): MaybePromise<Results[W]> {
    return this.publisher.run(this.inner, statement, values, resultKind)
  }
}

class PublishedTransaction extends PublishedRunner<TransactionRunner> implements TransactionRunner {
  commit(): Promise<void> {
    return this.publisher.step('commit', () => this.inner.commit())
  }

  rollback(): Promise<void> {
    return this.publisher.step('rollback', () => this.inner.rollback())
  }

  stop(): void {
    this.inner.stop?.()
  }
}

/** Publishes the statements of an engine if there is a subscriber. */
export function publishStatements(engine: Engine, publisher: StatementPublisher): Engine {
  const { requests } = engine
  const { reads, inOrder } = requests
  return createLayer(engine, {
    run: (statement, values, resultKind) => publisher.run(engine, statement, values, resultKind),
    begin: async (options) => {
      const transaction = await publisher.step('begin', () => engine.begin(options))
      return new PublishedTransaction(transaction, publisher)
    },
    requests: {
      ...requests,
      reads: reads && ((reading) => new PublishedRunner(reads(reading), publisher)),
      writes: (writing) => new PublishedRunner(requests.writes(writing), publisher),
      inOrder: wrapInOrder(inOrder, (runner) => new PublishedRunner(runner, publisher)),
    },
  })
}

/** The statement that tests whether the database responds. */
export const pingPrimary: Statement = frameworkQuery('select 1', { isFresh: true })

/** The same test for the database or one of its replicas. */
export const pingAny: Statement = frameworkQuery('select 1')
