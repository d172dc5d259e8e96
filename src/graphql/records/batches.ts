/**
 * Gathers the requests of all resolvers of one execution before reading: a relation of a hundred records costs one
 * statement, not a hundred.
 */
import type { Later } from '../../core/maybe-promise.js'

interface Waiting<K, V> {
  readonly key: K
  readonly resolve: (value: V) => void
  readonly reject: (error: unknown) => void
}

/** What one place of a document asks for in one execution. */
class Batch<K, V> {
  readonly #load: (keys: readonly K[]) => Later<(key: K) => V>
  #waiting: Waiting<K, V>[] = []

  constructor(load: (keys: readonly K[]) => Later<(key: K) => V>) {
    this.#load = load
  }

  get(key: K): Promise<V> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject })
      // Behind the promises that are being kept: their resolvers ask within this turn too.
      if (this.#waiting.length === 1)
        void Promise.resolve().then(() => {
          process.nextTick(() => void this.#run())
        })
    })
  }

  async #run(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    try {
      const valueOf = await this.#load([...new Set(waiting.map(({ key }) => key))])
      for (const { key, resolve } of waiting) resolve(valueOf(key))
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }
}

/** By execution (its own object of variables), then by place in the document. */
const executions = new WeakMap<object, Map<unknown, Batch<unknown, unknown>>>()

/**
 * @param execution an object that belongs to one execution alone
 * @param place what asks; the same `load` for the same place
 */
export function inBatch<K, V>(
  execution: object,
  place: unknown,
  load: (keys: readonly K[]) => Later<(key: K) => V>,
): { get(key: K): Promise<V> } {
  let batches = executions.get(execution)
  if (batches === undefined)
    executions.set(execution, (batches = new Map<unknown, Batch<unknown, unknown>>()))
  let batch = batches.get(place)
  if (batch === undefined) {
    batch = new Batch<K, V>(load) as Batch<unknown, unknown>
    batches.set(place, batch)
  }
  return batch as Batch<K, V>
}

const parts = new WeakMap<object, Map<unknown, object>>()

/** Stands for an execution where what it asks for is read in parts, e.g. by shards. */
export function partOf(execution: object, part: unknown): object {
  let ofExecution = parts.get(execution)
  if (ofExecution === undefined) parts.set(execution, (ofExecution = new Map<unknown, object>()))
  let one = ofExecution.get(part)
  if (one === undefined) ofExecution.set(part, (one = {}))
  return one
}
