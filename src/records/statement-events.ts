/**
 * The messages of `filigree:statement`, and an engine that publishes them. They never contain the values of statements.
 */
import type { BeginOptions } from '../engines/contract/begin-options.js'
import type { CurrentCaller, OtherProcesses } from '../engines/contract/engine-caller.js'
import { Watched, type WatchedWork } from '../core/watched.js'
import type { Later } from '../core/later.js'
import type { OrderedRunner } from '../engines/contract/ordered-runner.js'
import type { Pulse, PulseOptions } from '../engines/contract/pulse.js'
import type { Catalogue } from '../engines/contract/catalogue.js'
import type {
  ClientReading,
  ClientWriting,
  Dialect,
  Engine,
  EngineChannel,
  PoolState,
  QueryResult,
  Row,
  Runner,
  SchemaChangeOptions,
  ScriptKind,
  Statement,
  TransactionRunner,
} from '../engines/contract/engine.js'
import { writesOn } from '../engines/client-writes.js'
import { anyTable, ownQuestion } from '../engines/contract/statement.js'

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

export const statementEvents = new Watched<StatementEvent>('filigree:statement')

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

  around<T>({ sql, kind, tables }: Told, run: () => T): T {
    const { database } = this
    const system = this.#system
    const [first] = tables
    const table = first === anyTable ? undefined : first
    const told = { database, system, sql, kind: kind.toUpperCase(), table, tables }
    return statementEvents.around({ ...told, ms: 0, error: undefined }, run)
  }
}

class ToldRunner<R extends Runner> implements Runner {
  protected readonly inner: R
  protected readonly teller: Teller

  constructor(inner: R, teller: Teller) {
    this.inner = inner
    this.teller = teller
  }

  rows(statement: Statement, values: readonly unknown[]): Later<readonly Row[]> {
    if (!statementEvents.heard) return this.inner.rows(statement, values)
    return this.teller.around(statement, () => this.inner.rows(statement, values))
  }

  first(statement: Statement, values: readonly unknown[]): Later<Row | undefined> {
    if (!statementEvents.heard) return this.inner.first(statement, values)
    return this.teller.around(statement, () => this.inner.first(statement, values))
  }

  change(statement: Statement, values: readonly unknown[]): Later<number> {
    if (!statementEvents.heard) return this.inner.change(statement, values)
    return this.teller.around(statement, () => this.inner.change(statement, values))
  }

  query(statement: Statement, values: readonly unknown[]): Later<QueryResult> {
    if (!statementEvents.heard) return this.inner.query(statement, values)
    return this.teller.around(statement, () => this.inner.query(statement, values))
  }

  script(sql: string, kind?: ScriptKind): Later<void> {
    if (!statementEvents.heard) return this.inner.script(sql, kind)
    const told = kind === 'savepoint' ? toStep(sql, kind) : { sql, kind: 'script', tables }
    return this.teller.around(told, () => this.inner.script(sql, kind))
  }
}

class ToldTransaction extends ToldRunner<TransactionRunner> implements TransactionRunner {
  commit(): Promise<void> {
    if (!statementEvents.heard) return this.inner.commit()
    return this.teller.around(toStep('commit'), () => this.inner.commit())
  }

  rollback(): Promise<void> {
    if (!statementEvents.heard) return this.inner.rollback()
    return this.teller.around(toStep('rollback'), () => this.inner.rollback())
  }
}

class ToldLine extends ToldRunner<OrderedRunner> implements OrderedRunner {
  end(): void {
    this.inner.end()
  }
}

/** An engine whose statements are published if somebody listens. */
export class ToldEngine extends ToldRunner<Engine> implements Engine {
  readonly dialect: Dialect
  readonly driver: string
  readonly changesPiecemeal: boolean
  readonly channel: EngineChannel | undefined
  readonly clientReads?: (reading: ClientReading) => Runner
  readonly pool?: () => PoolState
  readonly backup?: (file: string) => void
  readonly pulse?: (options: PulseOptions) => Pulse
  readonly followCallers?: (current: CurrentCaller, others?: OtherProcesses) => void

  constructor(inner: Engine) {
    const teller = new Teller(inner.dialect)
    super(inner, teller)
    this.dialect = inner.dialect
    this.driver = inner.driver
    this.changesPiecemeal = inner.changesPiecemeal
    this.channel = inner.channel
    if (inner.clientReads !== undefined) {
      this.clientReads = (reading) => {
        const reads = inner.clientReads?.(reading) ?? inner
        return new ToldRunner(reads, teller)
      }
    }
    if (inner.followCallers !== undefined) {
      this.followCallers = (current, others) => inner.followCallers?.(current, others)
    }
    if (inner.pulse !== undefined) this.pulse = inner.pulse.bind(inner)
    if (inner.backup !== undefined) this.backup = (file) => inner.backup?.(file)
    if (inner.pool !== undefined) this.pool = () => inner.pool?.() ?? noPool
  }

  get isReadOnly(): boolean {
    return this.inner.isReadOnly === true
  }

  /** Names the database that the statements belong to. */
  belongsTo(database: object): void {
    this.teller.database = database
  }

  async begin(options?: BeginOptions): Promise<TransactionRunner> {
    const begun = statementEvents.heard
      ? await this.teller.around(toStep('begin'), () => this.inner.begin(options))
      : await this.inner.begin(options)
    return new ToldTransaction(begun, this.teller)
  }

  clientWrites(writing: ClientWriting): Runner {
    return new ToldRunner(writesOn(this.inner, writing), this.teller)
  }

  async inOrder(writing?: ClientWriting): Promise<OrderedRunner | undefined> {
    const line = await this.inner.inOrder?.(writing)
    return line && new ToldLine(line, this.teller)
  }

  changeSchema<T>(work: (runner: Runner) => Promise<T>, options?: SchemaChangeOptions): Promise<T> {
    return this.inner.changeSchema(work, options)
  }

  catalogue(runner: Runner): Promise<Catalogue> {
    return this.inner.catalogue(runner)
  }

  tableSizes(tables: readonly string[]): Later<ReadonlyMap<string, number>> {
    return this.inner.tableSizes(tables)
  }

  close(): Promise<void> {
    return this.inner.close()
  }
}

/** The statement that tests whether a database answers. */
export const isThere: Statement = ownQuestion('select 1', { isFresh: true })

/** The same, of the database or of one of its copies. */
export const isSomewhere: Statement = ownQuestion('select 1')

/** Of a script. */
const tables: readonly string[] = [anyTable]

/** A step of a transaction. */
function toStep(sql: string, kind = sql): Told {
  return { sql, kind, tables: [] }
}

const noPool: PoolState = Object.freeze({ most: 0, open: 0, idle: 0, waiting: 0 })
