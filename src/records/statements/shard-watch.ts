/**
 * Watches whether a transaction stays within one shard, on databases that isolate only such transactions. Source: decisions,
 * Sharding, partitions and failover.
 */
import type { Values } from '../../engines/contract/engine.js'
import type { Column } from '../../engines/contract/table.js'
import type { Statement } from '../../engines/contract/statement.js'
import type { Table } from '../model/table.js'

/** Called before each statement on a second shard. It may throw. */
export type OnSecondShard = (property: string, shards: readonly [unknown, unknown]) => void

export class ShardWatch {
  /** The shard columns of the tables. */
  readonly #columns = new Map<string | undefined, Column>()
  readonly #onSecond: OnSecondShard
  #shard: unknown

  constructor(tables: Iterable<Table>, onSecond: OnSecondShard) {
    for (const { name, shard } of tables) if (shard !== undefined) this.#columns.set(name, shard)
    this.#onSecond = onSecond
  }

  /** Reads the shard among the values of a statement. Custom SQL is not recognized. */
  check({ tables: [name], valueColumns }: Statement, values: Values): void {
    if (valueColumns === undefined) return
    const shard = this.#columns.get(name)
    if (shard === undefined) return
    for (const [index, column] of valueColumns.entries()) {
      const value = values[index]
      if (column !== shard.name || value === null || value === undefined) continue
      this.#shard ??= value
      if (toText(this.#shard as string) === toText(value as string)) continue
      this.#onSecond(shard.property, [this.#shard, value])
      return
    }
  }
}

function toText(value: string | number): string {
  return String(value)
}
