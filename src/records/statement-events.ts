/**
 * The messages of `filigree:statement`, and an engine that publishes them. They never contain the values of statements.
 */
import type { BeginOptions } from '../engines/contract/begin-options.js'
import type { CurrentCaller, OtherProcesses } from '../engines/contract/engine-caller.js'
import { Watched, type WatchedWork } from '../core/watched.js'
import type { Later } from '../core/later.js'
import type { OrderedRunner } from '../engines/contract/ordered-runner.js'
import type { Catalogue } from '../engines/contract/catalogue.js'
import type {
  ClientReading,
  Dialect,
  Engine,
  EngineChannel,
  PoolState,
  QueryResult,
  Row,
  Runner,
  SchemaChangeOptions,
  Statement,
  TransactionRunner,
} from '../engines/contract/engine.js'

/** A statement of the database. */
export interface StatementEvent extends WatchedWork {
  /** The `Database` that it belongs to. */
  readonly database: object | undefined
  /** The database's name for monitoring, e.g. `postgresql`. */
  readonly system: string
  /** As it was sent: placeholders stand for the values. */
  readonly sql: string
  /** Its first word in upper case: `SELECT`, `INSERT`, `BEGIN`. */
  readonly kind: string
  /** The first table that it names, if it names one. */
  readonly table: string | undefined
}

export const statementEvents = new Watched<StatementEvent>('filigree:statement')

interface Meaning {
  readonly kind: string
  readonly table: string | undefined
}

/** Each text is parsed once. Texts that contain values would fill this memory; then it is emptied. */
const meanings = new Map<string, Meaning>()
const mostMeanings = 1000

const named = /\b(?:from|into|update)\s+(?:only\s+)?"?([a-z_]\w*)"?/i
const copied = /^copy\s+"?([a-z_]\w*)"?/i

/** @returns the statement's kind and its table */
export function meaningOf(sql: string): Meaning {
  const known = meanings.get(sql)
  if (known !== undefined) return known
  const text = sql.trimStart()
  const first = /^[a-z]+/i.exec(text)?.[0].toUpperCase() ?? 'OTHER'
  // The statement behind a common table expression is the one that counts.
  const main = first === 'WITH' ? /\)\s*(select|insert|update|delete)\b/i.exec(text)?.[1] : first
  const places = first === 'COPY' ? copied : named
  const table = places.exec(text)?.[1]
  const meaning = { kind: (main ?? first).toUpperCase(), table }
  if (meanings.size >= mostMeanings) meanings.clear()
  meanings.set(sql, meaning)
  return meaning
}

class Teller {
  /** Set once the database exists. */
  database: object | undefined = undefined
  readonly #system: string

  constructor({ name, system = name }: Dialect) {
    this.#system = system
  }

  around<T>(sql: string, run: () => T): T {
    const { kind, table } = meaningOf(sql)
    const { database } = this
    const system = this.#system
    return statementEvents.around(
      { database, system, sql, kind, table, ms: 0, error: undefined },
      run,
    )
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
    return this.teller.around(statement.sql, () => this.inner.rows(statement, values))
  }

  first(statement: Statement, values: readonly unknown[]): Later<Row | undefined> {
    if (!statementEvents.heard) return this.inner.first(statement, values)
    return this.teller.around(statement.sql, () => this.inner.first(statement, values))
  }

  change(statement: Statement, values: readonly unknown[]): Later<number> {
    if (!statementEvents.heard) return this.inner.change(statement, values)
    return this.teller.around(statement.sql, () => this.inner.change(statement, values))
  }

  query(statement: Statement, values: readonly unknown[]): Later<QueryResult> {
    if (!statementEvents.heard) return this.inner.query(statement, values)
    return this.teller.around(statement.sql, () => this.inner.query(statement, values))
  }

  script(sql: string): Later<void> {
    if (!statementEvents.heard) return this.inner.script(sql)
    return this.teller.around(sql, () => this.inner.script(sql))
  }
}

class ToldTransaction extends ToldRunner<TransactionRunner> implements TransactionRunner {
  commit(): Promise<void> {
    if (!statementEvents.heard) return this.inner.commit()
    return this.teller.around('commit', () => this.inner.commit())
  }

  rollback(): Promise<void> {
    if (!statementEvents.heard) return this.inner.rollback()
    return this.teller.around('rollback', () => this.inner.rollback())
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
      ? await this.teller.around('begin', () => this.inner.begin(options))
      : await this.inner.begin(options)
    return new ToldTransaction(begun, this.teller)
  }

  async inOrder(): Promise<OrderedRunner | undefined> {
    const line = await this.inner.inOrder?.()
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
export const isThere: Statement = Object.freeze({ sql: 'select 1', writes: false, isFresh: true })

const noPool: PoolState = Object.freeze({ most: 0, open: 0, idle: 0, waiting: 0 })
