/**
 * The messages of `filigree:statement`, and an engine that publishes them. They never contain the values of statements.
 */
import type {
  BeginOptions,
  Results,
  ClientWriting,
  Engine,
  Runner,
  Statement,
  TransactionRunner,
  Values,
  ResultKind,
  OrderedRunner,
} from '../engines/contract/engine.js'
import { WorkChannel, type WatchedWork } from '../core/diagnostics.js'
import type { MaybePromise } from '../core/maybe-promise.js'
import type { Dialect } from '../engines/contract/dialect.js'
import { EngineLayer } from '../engines/engine-layer.js'
import { clientWritesOf } from '../engines/client-writes.js'
import { anyTable, frameworkQuery } from '../engines/contract/statement.js'
import { areReadsNoted, noteRead } from './table-reads.js'

/** A statement of the database. */
export interface StatementEvent extends WatchedWork {
  /** The `Database` that it belongs to. */
  readonly database: object | undefined
  /** The database's name for monitoring, e.g. `postgresql`. */
  readonly system: string
  /** As it was sent: placeholders stand for the values. */
  readonly sql: string
  /** What it does: `SELECT`, `INSERT`, `UPDATE`, `DELETE`, `UPSERT`, `SCRIPT`, `UNKNOWN` (SQL that was written out), `BEGIN`, `COMMIT`, `ROLLBACK`, `SAVEPOINT`. */
  readonly kind: string
  /** The table of the record that was asked for, if there is one. */
  readonly table: string | undefined
  /** Every table that it reads or writes, that one first; `*` stands for those that nobody knows. */
  readonly tables: readonly string[]
}

const statementEvents = new WorkChannel<StatementEvent>('filigree:statement')

/** What is said of a statement, or of a step of a transaction. */
interface Told {
  readonly sql: string
  readonly kind: string
  readonly tables: readonly string[]
}

class Teller {
  /** Set once the database exists. */
  database: object | undefined = undefined
  readonly #system: string

  constructor({ name, system = name }: Dialect) {
    this.#system = system
  }

  run<W extends ResultKind>(
    inner: Runner,
    statement: Statement,
    values: readonly unknown[],
    wanted: W,
  ): MaybePromise<Results[W]> {
    if (areReadsNoted()) noteRead(this.database, statement, values)
    if (!statementEvents.hasSubscribers) return inner.run(statement, values, wanted)
    return this.around(statement, () => inner.run(statement, values, wanted))
  }

  around<T>({ sql, kind, tables }: Told, run: () => T): T {
    const { database } = this
    const system = this.#system
    const [first] = tables
    const table = first === anyTable ? undefined : first
    const told = { database, system, sql, kind: kind.toUpperCase(), table, tables }
    return statementEvents.around({ ...told, ms: 0, error: undefined }, run)
  }

  /** A step of a transaction. */
  step<T>(sql: string, run: () => T): T {
    return statementEvents.hasSubscribers ? this.around({ sql, kind: sql, tables: [] }, run) : run()
  }
}

class ToldRunner<R extends Runner> implements Runner {
  protected readonly inner: R
  protected readonly teller: Teller

  constructor(inner: R, teller: Teller) {
    this.inner = inner
    this.teller = teller
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    wanted: W,
  ): MaybePromise<Results[W]> {
    return this.teller.run(this.inner, statement, values, wanted)
  }
}

class ToldTransaction extends ToldRunner<TransactionRunner> implements TransactionRunner {
  commit(): Promise<void> {
    return this.teller.step('commit', () => this.inner.commit())
  }

  rollback(): Promise<void> {
    return this.teller.step('rollback', () => this.inner.rollback())
  }
}

class ToldLine extends ToldRunner<OrderedRunner> implements OrderedRunner {
  end(): void {
    this.inner.end()
  }
}

/** An engine whose statements are published if somebody listens. */
export class ToldEngine extends EngineLayer {
  readonly #teller: Teller

  constructor(inner: Engine) {
    super(inner)
    const teller = new Teller(inner.dialect)
    this.#teller = teller
    const { clientReads, inOrder } = this
    if (clientReads !== undefined)
      this.clientReads = (reading) => new ToldRunner(clientReads(reading), teller)
    if (inOrder !== undefined)
      this.inOrder = async (writing) => {
        const line = await inOrder(writing)
        return line && new ToldLine(line, teller)
      }
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    wanted: W,
  ): MaybePromise<Results[W]> {
    return this.#teller.run(this.inner, statement, values, wanted)
  }

  /** Names the database that the statements belong to. */
  belongsTo(database: object): void {
    this.#teller.database = database
  }

  override async begin(options?: BeginOptions): Promise<TransactionRunner> {
    const begun = await this.#teller.step('begin', () => this.inner.begin(options))
    return new ToldTransaction(begun, this.#teller)
  }

  clientWrites(writing: ClientWriting): Runner {
    return new ToldRunner(clientWritesOf(this.inner, writing), this.#teller)
  }
}

/** The statement that tests whether a database answers. */
export const isThere: Statement = frameworkQuery('select 1', { isFresh: true })

/** The same, of the database or of one of its copies. */
export const isSomewhere: Statement = frameworkQuery('select 1')
