/** Sees what an engine is asked, and holds its statements back until the test lets them go. */
import type {
  ClientReading,
  ClientWriting,
  Engine,
  Runner,
  Statement,
  ResultKind,
} from '../../src/engines/contract/engine.js'
export { openEngine } from '../../src/engines/engine-for-url.js'
import { isWrite } from '../../src/engines/contract/statement.js'
import { BatchingEngine } from '../../src/engines/postgres/batching/batching-engine.js'

interface Gate {
  readonly isHeld: (sql: string) => boolean
  readonly writes: boolean
  left: number
  readonly opened: Promise<void>
}

export class StatementWatch {
  #seen: string[] = []
  #gate: Gate | undefined
  readonly #running = new Set<Promise<unknown>>()

  /** @returns an engine whose brief reads go together, above one whose statements are seen */
  around(engine: Engine): Engine {
    return new BatchingEngine(
      this.#watched(engine, {
        begin: async (...given: Parameters<Engine['begin']>) =>
          this.#watched(await this.#follow(engine.begin(...given)), {}),
        ...(engine.clientReads !== undefined && {
          clientReads: (reading: ClientReading) =>
            this.#watched(engine.clientReads?.(reading) ?? engine, {}),
        }),
        ...(engine.clientWrites !== undefined && {
          clientWrites: (writing: ClientWriting) =>
            this.#watched(engine.clientWrites?.(writing) ?? engine, {}),
        }),
      }),
    )
  }

  /** @returns what was asked while the work ran */
  async during(work: () => Promise<unknown>): Promise<readonly string[]> {
    const before = this.#seen.length
    await work()
    return this.#seen.slice(before)
  }

  /**
   * Holds reads back from now on, or writes.
   *
   * @param most so many; the others go
   * @returns what lets them go
   */
  hold(isHeld: (sql: string) => boolean = () => true, most = Infinity, writes = false): () => void {
    let open: () => void = () => undefined
    const opened = new Promise<void>((resolve) => (open = resolve))
    this.#gate = { isHeld, writes, left: most, opened }
    return () => {
      this.#gate = undefined
      open()
    }
  }

  /** Once nothing runs any more, what was begun by the way included. */
  async settled(): Promise<void> {
    // What follows an answer is begun in the same turn of the loop.
    do {
      await Promise.allSettled([...this.#running])
      await new Promise((resolve) => setImmediate(resolve))
    } while (this.#running.size > 0)
  }

  #watched<R extends Runner>(runner: R, own: object): R {
    const instead: object = {
      run: (statement: Statement, values: readonly unknown[], wanted: ResultKind) =>
        this.#follow(
          wanted === 'rows' || wanted === 'first'
            ? this.#read(statement, async () => runner.run(statement, values, wanted))
            : runner.run(statement, values, wanted),
        ),
      ...own,
    }
    return new Proxy(runner, {
      get: (target, name) => {
        if (name in instead) return Reflect.get(instead, name) as unknown
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function'
          ? (...given: unknown[]) => this.#follow(value.apply(target, given) as unknown)
          : value
      },
    })
  }

  async #read(statement: Statement, run: () => Promise<unknown>): Promise<unknown> {
    // Those of the framework's own come when their time has come.
    if (statement.for !== 'ourselves') this.#seen.push(statement.sql)
    const gate = this.#gate
    const isMeant = gate?.writes === isWrite(statement) && gate.isHeld(statement.sql)
    if (gate !== undefined && gate.left > 0 && isMeant) {
      gate.left--
      await gate.opened
    }
    return run()
  }

  #follow<T>(given: T): T {
    if (given instanceof Promise) {
      this.#running.add(given)
      const end = (): unknown => this.#running.delete(given)
      given.then(end, end)
    }
    return given
  }
}
