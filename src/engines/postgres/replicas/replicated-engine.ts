/**
 * A primary with replicas as one engine: reads outside transactions go to a replica that is up to date enough,
 * everything else to the primary. If a replica cannot answer a read, the primary does.
 */
import type { Catalogue } from '../../contract/catalogue.js'
import type { BeginOptions } from '../../contract/begin-options.js'
import type { CurrentCaller, OtherProcesses } from '../../contract/engine-caller.js'
import {
  EngineFault,
  type ClientReading,
  type ClientWriting,
  type Dialect,
  type Engine,
  type EngineChannel,
  type PoolState,
  type QueryResult,
  type Row,
  type Runner,
  type SchemaChangeOptions,
  type ScriptKind,
  type Statement,
  type TransactionRunner,
} from '../../contract/engine.js'
import { changes, concernsOwnTable } from '../../contract/statement.js'
import type { OrderedRunner } from '../../contract/ordered-runner.js'
import { writesOn } from '../../client-writes.js'
import type { Pulse, PulseOptions } from '../../contract/pulse.js'
import { tookTooLong } from '../faults.js'
import type { Replica } from './replica.js'
import type { ReplicaSet } from './replica-set.js'

type Ask<T> = (runner: Runner) => Promise<T>

/** Reads from a replica that is up to date enough, and writes to the primary. */
class RoutedRunner implements Runner {
  readonly #primary: Runner
  readonly #set: ReplicaSet
  readonly #on: (replica: Replica) => Runner | undefined

  /** @param on gives the runner for a replica */
  constructor(primary: Runner, set: ReplicaSet, on: (replica: Replica) => Runner | undefined) {
    this.#primary = primary
    this.#set = set
    this.#on = on
  }

  rows(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#run(statement, async (runner) => runner.rows(statement, values))
  }

  first(statement: Statement, values: readonly unknown[]): Promise<Row | undefined> {
    return this.#run(statement, async (runner) => runner.first(statement, values))
  }

  change(statement: Statement, values: readonly unknown[]): Promise<number> {
    return this.#run(statement, async (runner) => runner.change(statement, values))
  }

  query(statement: Statement, values: readonly unknown[]): Promise<QueryResult> {
    const ask: Ask<QueryResult> = async (runner) => runner.query(statement, values)
    return !changes(statement) && concernsOwnTable(statement)
      ? ask(this.#primary)
      : this.#run(statement, ask)
  }

  script(sql: string): Promise<void> {
    return this.#write(async (runner) => runner.script(sql))
  }

  #run<T>(statement: Statement, ask: Ask<T>): Promise<T> {
    if (changes(statement)) {
      return concernsOwnTable(statement) ? ask(this.#primary) : this.#write(ask)
    }
    if (statement.isFresh === true) {
      return concernsOwnTable(statement) ? this.#readOwn(ask) : ask(this.#primary)
    }
    const replica = this.#set.choose()
    const runner = replica && this.#on(replica)
    return runner === undefined ? ask(this.#primary) : this.#read(replica as Replica, runner, ask)
  }

  /** Whether it fails or not: a connection may be lost after the commit. */
  async #write<T>(ask: Ask<T>): Promise<T> {
    try {
      return await ask(this.#primary)
    } finally {
      this.#set.wrote()
    }
  }

  /**
   * Sessions and revocations: while the primary is down they cannot change, so a replica can answer for callers with a
   * token.
   */
  async #readOwn<T>(ask: Ask<T>): Promise<T> {
    try {
      return await ask(this.#primary)
    } catch (error) {
      const replica =
        error instanceof EngineFault && isGone(error) ? this.#set.standIn() : undefined
      const runner = replica && this.#on(replica)
      if (runner === undefined) throw error
      return this.#read(replica as Replica, runner, ask)
    }
  }

  async #read<T>(replica: Replica, runner: Runner, ask: Ask<T>): Promise<T> {
    replica.running++
    try {
      return await ask(runner)
    } catch (error) {
      if (!isReplicas(error)) throw error
      if (isGone(error)) replica.lose(error)
    } finally {
      replica.running--
    }
    return ask(this.#primary)
  }
}

/** Faults that the same statement might not have on the primary. */
function isReplicas(error: unknown): error is EngineFault {
  if (!(error instanceof EngineFault) || tookTooLong(error)) return false
  // A table or column that has not arrived yet; work for a primary only; a row that was cleaned up while it was read.
  return isGone(error) || /^(?:42|25006|55000|0A000|40)/.test(codeOf(error))
}

function isGone(fault: EngineFault): boolean {
  return fault.kind === 'unavailable' && codeOf(fault) !== '25006'
}

function codeOf({ cause }: EngineFault): string {
  const { code } = (cause ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** Statements in order on the primary: each sees what the ones before have written. */
class RoutedLine extends RoutedRunner implements OrderedRunner {
  readonly #line: OrderedRunner

  constructor(line: OrderedRunner, set: ReplicaSet) {
    super(line, set, () => undefined)
    this.#line = line
  }

  end(): void {
    this.#line.end()
  }
}

export class ReplicatedEngine extends RoutedRunner implements Engine {
  readonly dialect: Dialect
  readonly driver: string
  readonly changesPiecemeal: boolean
  readonly channel: EngineChannel | undefined
  readonly pulse?: (options: PulseOptions) => Pulse
  readonly #engine: Engine
  readonly #replicas: ReplicaSet

  constructor(primary: Engine, set: ReplicaSet) {
    super(primary, set, ({ engine }) => engine)
    this.#engine = primary
    this.#replicas = set
    this.dialect = primary.dialect
    this.driver = primary.driver
    this.changesPiecemeal = primary.changesPiecemeal
    this.channel = primary.channel
    if (primary.pulse !== undefined) this.pulse = primary.pulse.bind(primary)
  }

  get isReadOnly(): boolean {
    return this.#engine.isReadOnly === true
  }

  followCallers(caller: CurrentCaller, others?: OtherProcesses): void {
    this.#replicas.followCallers(caller, others)
  }

  /** A share for each server that the request reads from. */
  clientReads(reading: ClientReading): Runner {
    const shares = new Map<Engine, Runner>()
    const of = (engine: Engine): Runner => {
      let share = shares.get(engine)
      if (share === undefined) {
        share = engine.clientReads?.(reading) ?? engine
        shares.set(engine, share)
      }
      return share
    }
    const on = ({ engine }: Replica): Runner | undefined => engine && of(engine)
    return new RoutedRunner(of(this.#engine), this.#replicas, on)
  }

  async begin(options?: BeginOptions): Promise<TransactionRunner> {
    return new MarkedTransaction(await this.#engine.begin(options), () => {
      this.#replicas.wrote()
    })
  }

  clientWrites(writing: ClientWriting): Runner {
    return new RoutedRunner(writesOn(this.#engine, writing), this.#replicas, ({ engine }) => engine)
  }

  async inOrder(writing?: ClientWriting): Promise<OrderedRunner | undefined> {
    const line = await this.#engine.inOrder?.(writing)
    return line && new RoutedLine(line, this.#replicas)
  }

  changeSchema<T>(work: (runner: Runner) => Promise<T>, options?: SchemaChangeOptions): Promise<T> {
    return this.#engine.changeSchema(work, options)
  }

  catalogue(runner: Runner): Promise<Catalogue> {
    return this.#engine.catalogue(runner)
  }

  async tableSizes(tables: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.#engine.tableSizes(tables)
  }

  pool(): PoolState {
    const own = this.#engine.pool?.() ?? { most: 0, open: 0, idle: 0, waiting: 0 }
    return { ...own, replicas: this.#replicas.states }
  }

  async close(): Promise<void> {
    await this.#replicas.close()
    await this.#engine.close()
  }
}

/** A transaction on the primary; when it is over, its caller must see its changes. */
class MarkedTransaction implements TransactionRunner {
  readonly #inner: TransactionRunner
  readonly #wrote: () => void
  #hasWritten = false

  constructor(inner: TransactionRunner, wrote: () => void) {
    this.#inner = inner
    this.#wrote = wrote
  }

  rows(statement: Statement, values: readonly unknown[]) {
    this.#heed(statement)
    return this.#inner.rows(statement, values)
  }

  first(statement: Statement, values: readonly unknown[]) {
    this.#heed(statement)
    return this.#inner.first(statement, values)
  }

  change(statement: Statement, values: readonly unknown[]) {
    this.#heed(statement)
    return this.#inner.change(statement, values)
  }

  query(statement: Statement, values: readonly unknown[]) {
    this.#heed(statement)
    return this.#inner.query(statement, values)
  }

  script(sql: string, kind?: ScriptKind) {
    if (kind !== 'savepoint') this.#hasWritten = true
    return this.#inner.script(sql, kind)
  }

  async commit(): Promise<void> {
    try {
      await this.#inner.commit()
    } finally {
      if (this.#hasWritten) this.#wrote()
    }
  }

  rollback(): Promise<void> {
    return this.#inner.rollback()
  }

  #heed(statement: Statement): void {
    if (changes(statement)) this.#hasWritten = true
  }
}
