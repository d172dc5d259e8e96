/** Collects the keys that resolvers need at the same time, and loads them together. */
import type { MaybePromise } from '../../core/maybe-promise.js'

/** A resolver that waits for the value of a key. */
interface WaitingResolver<K, V> {
  readonly key: K
  readonly resolve: (value: V) => void
  readonly reject: (error: unknown) => void
}

/**
 * Collects the keys that one field loads in one execution, and loads them together: a relation of 100 records costs one
 * statement instead of 100.
 */
class KeyBatch<K, V> {
  readonly #load: (keys: readonly K[]) => MaybePromise<(key: K) => V>
  #waiting: WaitingResolver<K, V>[] = []

  constructor(load: (keys: readonly K[]) => MaybePromise<(key: K) => V>) {
    this.#load = load
  }

  get(key: K): Promise<V> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject })
      // Runs after all pending promises, because their resolvers may add keys in the same turn of the event loop.
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

/** Batches by execution (identified by its object of variables) and field. */
const executions = new WeakMap<object, Map<unknown, KeyBatch<unknown, unknown>>>()

/**
 * @param execution an object that belongs to one execution only
 *
 * @param field identifies the field, which must always pass the same `load`
 */
export function inBatch<K, V>(
  execution: object,
  field: unknown,
  load: (keys: readonly K[]) => MaybePromise<(key: K) => V>,
): { get(key: K): Promise<V> } {
  let batches = executions.get(execution)
  if (batches === undefined)
    executions.set(execution, (batches = new Map<unknown, KeyBatch<unknown, unknown>>()))
  let batch = batches.get(field)
  if (batch === undefined) {
    batch = new KeyBatch<K, V>(load) as KeyBatch<unknown, unknown>
    batches.set(field, batch)
  }
  return batch as KeyBatch<K, V>
}

/** By execution and shard. */
const shardExecutions = new WeakMap<object, Map<unknown, object>>()

/** An object that identifies the part of an execution that loads from one shard. */
export function executionInShard(execution: object, shard: unknown): object {
  let executionsByShard = shardExecutions.get(execution)
  if (executionsByShard === undefined)
    shardExecutions.set(execution, (executionsByShard = new Map<unknown, object>()))
  let shardExecution = executionsByShard.get(shard)
  if (shardExecution === undefined) executionsByShard.set(shard, (shardExecution = {}))
  return shardExecution
}
