/**
 * A primary with replicas as one engine: reads outside transactions go to a replica that is up to date enough,
 * everything else to the primary. If a replica cannot answer a read, the primary does.
 */
import type { MaybePromise } from '../../../core/maybe-promise.js'
import type {
  BeginOptions,
  Answers,
  ClientReading,
  ClientWriting,
  Engine,
  Runner,
  Statement,
  TransactionRunner,
  Values,
  Wanted,
  OrderedRunner,
} from '../../contract/engine.js'
import { EngineFault } from '../../contract/engine-error.js'
import { changes, concernsOwnTable } from '../../contract/statement.js'
import { writesOn } from '../../client-writes.js'
import { EngineLayer, noPool } from '../../engine-layer.js'
import { tookTooLong } from '../errors.js'
import type { Replica } from './replica.js'
import type { ReplicaSet } from './replica-set.js'

type Ask<T> = (runner: Runner) => Promise<T>

/** Decides where a statement runs: on the primary, or on a replica that is up to date enough. */
class Routes implements Runner {
  readonly #primary: Runner
  readonly #set: ReplicaSet
  readonly #on: (replica: Replica) => Runner | undefined

  /** @param on gives the runner for a replica */
  constructor(primary: Runner, set: ReplicaSet, on: (replica: Replica) => Runner | undefined) {
    this.#primary = primary
    this.#set = set
    this.#on = on
  }

  run<W extends Wanted>(statement: Statement, values: Values, wanted: W): Promise<Answers[W]> {
    const ask: Ask<Answers[W]> = async (runner) => runner.run(statement, values, wanted)
    const isOwn = concernsOwnTable(statement)
    if (changes(statement)) return isOwn ? ask(this.#primary) : this.#write(ask)
    // What asks for everything is kept by nobody: it looks into tables as they are, at the start.
    if (isOwn && wanted === 'all') return ask(this.#primary)
    if (statement.isFresh === true) return isOwn ? this.#readOwn(ask) : ask(this.#primary)
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
class RoutedLine extends Routes implements OrderedRunner {
  readonly #line: OrderedRunner

  constructor(line: OrderedRunner, set: ReplicaSet) {
    super(line, set, () => undefined)
    this.#line = line
  }

  end(): void {
    this.#line.end()
  }
}

export class ReplicatedEngine extends EngineLayer {
  readonly #replicas: ReplicaSet
  readonly #routes: Routes

  constructor(primary: Engine, set: ReplicaSet) {
    super(primary)
    this.#replicas = set
    this.#routes = new Routes(primary, set, ({ engine }) => engine)
    this.clientReads = (reading) => this.#reads(reading)
    this.followCallers = (caller, others) => {
      set.followCallers(caller, others)
    }
    this.inOrder = async (writing) => {
      const line = await primary.inOrder?.(writing)
      return line && new RoutedLine(line, set)
    }
    this.pool = () => ({ ...(primary.pool?.() ?? noPool), replicas: set.states })
    this.parameterTypes = undefined
  }

  run<W extends Wanted>(statement: Statement, values: Values, wanted: W): Promise<Answers[W]> {
    return this.#routes.run(statement, values, wanted)
  }

  /** A share for each server that the request reads from. */
  #reads(reading: ClientReading): Runner {
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
    return new Routes(of(this.inner), this.#replicas, on)
  }

  override async begin(options?: BeginOptions): Promise<TransactionRunner> {
    return new MarkedTransaction(await this.inner.begin(options), () => {
      this.#replicas.wrote()
    })
  }

  clientWrites(writing: ClientWriting): Runner {
    return new Routes(writesOn(this.inner, writing), this.#replicas, ({ engine }) => engine)
  }

  override async close(): Promise<void> {
    await this.#replicas.close()
    await this.inner.close()
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

  run<W extends Wanted>(statement: Statement, values: Values, wanted: W): MaybePromise<Answers[W]> {
    if (changes(statement)) this.#hasWritten = true
    return this.#inner.run(statement, values, wanted)
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
}
