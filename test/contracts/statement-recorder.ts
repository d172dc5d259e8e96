/** Records the statements that an engine runs, and can hold them back until the test releases them. */
import type { Engine, Runner, Statement, ResultKind } from '../../src/engines/contract/engine.js'
export { openEngine } from '../../src/engines/engine-for-url.js'
import { isWrite } from '../../src/engines/contract/statement.js'
import { createLayer } from '../../src/engines/engine-layer.js'
import { batchCalls } from '../../src/engines/postgres/batching/batch-calls.js'

interface Gate {
  readonly isHeld: (sql: string) => boolean
  readonly writes: boolean
  remaining: number
  readonly opened: Promise<void>
}

export class StatementRecorder {
  #recorded: string[] = []
  #gate: Gate | undefined
  readonly #running = new Set<Promise<unknown>>()

  /** @returns an engine that batches short reads, on top of one whose statements are recorded */
  around(engine: Engine): Engine {
    const { requests, batching } = engine
    const { reads } = requests
    const watched = this.#watched(engine)
    const recorded = createLayer(engine, {
      run: (statement, values, returns) => watched.run(statement, values, returns),
      begin: async (options) => this.#watched(await this.#follow(engine.begin(options))),
      requests: {
        ...requests,
        reads: reads && ((reading) => this.#watched(reads(reading))),
        writes: (writing) => this.#watched(requests.writes(writing)),
      },
      batching: batching && {
        parameterTypes: (statement) => this.#follow(batching.parameterTypes(statement)),
      },
    })
    return batchCalls(recorded)
  }

  /** @returns the SQL of the statements that ran during the work */
  async during(work: () => Promise<unknown>): Promise<readonly string[]> {
    const before = this.#recorded.length
    await work()
    return this.#recorded.slice(before)
  }

  /**
   * From now on holds back matching reads, or writes if `writes` is true.
   *
   * @param maxHeld the number of statements to hold; later ones run
   * @returns a function that releases them
   */
  hold(
    isHeld: (sql: string) => boolean = () => true,
    maxHeld = Infinity,
    writes = false,
  ): () => void {
    let open: () => void = () => undefined
    const opened = new Promise<void>((resolve) => (open = resolve))
    this.#gate = { isHeld, writes, remaining: maxHeld, opened }
    return () => {
      this.#gate = undefined
      open()
    }
  }

  /** Resolves once no statement runs any more, including statements that others have started. */
  async settled(): Promise<void> {
    // Follow-up statements start in the same turn of the event loop as the result.
    do {
      await Promise.allSettled([...this.#running])
      await new Promise((resolve) => setImmediate(resolve))
    } while (this.#running.size > 0)
  }

  #watched<R extends Runner>(runner: R): R {
    const run = (statement: Statement, values: readonly unknown[], resultKind: ResultKind) =>
      this.#follow(
        resultKind === 'rows' || resultKind === 'first'
          ? this.#read(statement, async () => runner.run(statement, values, resultKind))
          : runner.run(statement, values, resultKind),
      )
    return new Proxy(runner, {
      get: (target, name) => {
        if (name === 'run') return run
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function'
          ? (...parameters: unknown[]) => this.#follow(value.apply(target, parameters) as unknown)
          : value
      },
    })
  }

  async #read(statement: Statement, run: () => Promise<unknown>): Promise<unknown> {
    // The framework's own statements run at any time, so they are not recorded.
    if (statement.for !== 'ourselves') this.#recorded.push(statement.sql)
    const gate = this.#gate
    const matches = gate?.writes === isWrite(statement) && gate.isHeld(statement.sql)
    if (gate !== undefined && gate.remaining > 0 && matches) {
      gate.remaining--
      await gate.opened
    }
    return run()
  }

  #follow<T>(parameters: T): T {
    if (parameters instanceof Promise) {
      this.#running.add(parameters)
      const end = (): unknown => this.#running.delete(parameters)
      parameters.then(end, end)
    }
    return parameters
  }
}
