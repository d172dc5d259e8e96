/**
 * A primary with replicas as one engine. Reads outside transactions run on a replica that is up to date enough, everything
 * else on the primary. If a read fails on a replica, it runs on the primary.
 */
import type { MaybePromise } from '../../../core/maybe-promise.js'
import type {
  Results,
  ClientReading,
  Engine,
  Runner,
  Statement,
  TransactionRunner,
  Values,
  ResultKind,
} from '../../contract/engine.js'
import { EngineError } from '../../contract/engine-error.js'
import { isWrite, usesFrameworkTable } from '../../contract/statement.js'
import { createLayer, noPool, wrapInOrder } from '../../engine-layer.js'
import { isOtherServerLost, tookTooLong } from '../errors.js'
import type { Replica } from './replica.js'
import type { ReplicaSet } from './replica-set.js'

type RunOn<T> = (runner: Runner) => Promise<T>

/** Decides where a statement runs: on the primary, or on a replica that is up to date enough. */
class ReplicaRouter implements Runner {
  readonly #primary: Runner
  readonly #set: ReplicaSet
  readonly #runnerOn: (replica: Replica) => Runner | undefined

  /** @param on returns the runner for a replica; `undefined` uses the primary */
  constructor(primary: Runner, set: ReplicaSet, on: (replica: Replica) => Runner | undefined) {
    this.#primary = primary
    this.#set = set
    this.#runnerOn = on
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): Promise<Results[W]> {
    const runOn: RunOn<Results[W]> = async (runner) => runner.run(statement, values, resultKind)
    const isFrameworkTable = usesFrameworkTable(statement)
    if (isWrite(statement)) return isFrameworkTable ? runOn(this.#primary) : this.#write(runOn)
    // Queries with the kind `all` read the framework's tables at the start, and must see their latest state.
    if (isFrameworkTable && resultKind === 'all') return runOn(this.#primary)
    if (statement.isFresh === true)
      return isFrameworkTable ? this.#readFrameworkTable(runOn) : runOn(this.#primary)
    const replica = this.#set.choose()
    const runner = replica && this.#runnerOn(replica)
    return runner === undefined
      ? runOn(this.#primary)
      : this.#read(replica as Replica, runner, runOn)
  }

  /** Records the write even if it fails, because the connection may be lost after the commit. */
  async #write<T>(runOn: RunOn<T>): Promise<T> {
    try {
      return await runOn(this.#primary)
    } finally {
      this.#set.recordWrite()
    }
  }

  /**
   * Reads sessions and revocations. While the primary is down they cannot change, so a replica is used for callers with a
   * token.
   */
  async #readFrameworkTable<T>(runOn: RunOn<T>): Promise<T> {
    try {
      return await runOn(this.#primary)
    } catch (error) {
      const replica =
        error instanceof EngineError && isUnreachable(error) ? this.#set.fallback() : undefined
      const runner = replica && this.#runnerOn(replica)
      if (runner === undefined) throw error
      return this.#read(replica as Replica, runner, runOn)
    }
  }

  async #read<T>(replica: Replica, runner: Runner, runOn: RunOn<T>): Promise<T> {
    replica.running++
    try {
      return await runOn(runner)
    } catch (error) {
      if (!mayPassOnPrimary(error)) throw error
      if (isUnreachable(error) && !isOtherServerLost(error)) replica.markUnreachable(error)
    } finally {
      replica.running--
    }
    return runOn(this.#primary)
  }
}

/** Whether the same statement may succeed on the primary. */
function mayPassOnPrimary(error: unknown): error is EngineError {
  if (!(error instanceof EngineError) || tookTooLong(error)) return false
  // A table or column that is not replicated yet, statements that only a primary accepts, conflicts with recovery.
  return isUnreachable(error) || /^(?:42|25006|55000|0A000|40)/.test(codeOf(error))
}

function isUnreachable(error: EngineError): boolean {
  return error.kind === 'unavailable' && !error.isReadOnly
}

function codeOf({ cause }: EngineError): string {
  const { code } = (cause ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** Reads from replicas of an engine, which is the primary. */
export function readFromReplicas(primary: Engine, set: ReplicaSet): Engine {
  const { status, requests } = primary
  const { inOrder } = requests
  const engineOf = ({ engine }: Replica): Engine | undefined => engine
  const router = new ReplicaRouter(primary, set, engineOf)
  return createLayer(primary, {
    status: { ...status, pool: () => ({ ...(status.pool() ?? noPool), replicas: set.states }) },
    run: (statement, values, resultKind) => router.run(statement, values, resultKind),
    begin: async (options) =>
      new TrackedTransaction(await primary.begin(options), () => {
        set.recordWrite()
      }),
    requests: {
      reads: (reading) => routedReads(primary, set, reading),
      writes: (writing) => new ReplicaRouter(requests.writes(writing), set, engineOf),
      // On the primary, because each statement sees the writes of the statements before it.
      inOrder: wrapInOrder(inOrder, (runner) => new ReplicaRouter(runner, set, () => undefined)),
      followCallers: (caller, otherProcesses) => {
        set.followCallers(caller, otherProcesses)
      },
    },
    batching: undefined,
    close: async () => {
      await set.close()
      await primary.close()
    },
  })
}

/** Uses one runner for each server that the request reads from. */
function routedReads(primary: Engine, set: ReplicaSet, reading: ClientReading): Runner {
  const runners = new Map<Engine, Runner>()
  const runnerOf = (engine: Engine): Runner => {
    let runner = runners.get(engine)
    if (runner === undefined) {
      runner = engine.requests.reads?.(reading) ?? engine
      runners.set(engine, runner)
    }
    return runner
  }
  return new ReplicaRouter(runnerOf(primary), set, ({ engine }) => engine && runnerOf(engine))
}

/** A transaction on the primary. When it has ended, its caller must see its changes. */
class TrackedTransaction implements TransactionRunner {
  readonly #inner: TransactionRunner
  readonly #onWritten: () => void
  #hasWritten = false

  constructor(inner: TransactionRunner, onWritten: () => void) {
    this.#inner = inner
    this.#onWritten = onWritten
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): MaybePromise<Results[W]> {
    if (isWrite(statement)) this.#hasWritten = true
    return this.#inner.run(statement, values, resultKind)
  }

  async commit(): Promise<void> {
    try {
      await this.#inner.commit()
    } finally {
      if (this.#hasWritten) this.#onWritten()
    }
  }

  rollback(): Promise<void> {
    return this.#inner.rollback()
  }

  stop(): void {
    this.#inner.stop?.()
  }
}
