/**
 * Watches which shards a transaction uses, on databases that isolate only transactions within one shard and commit on several
 * servers together only if they are asked. Source: decisions, Sharding, partitions and failover.
 */
import type { Values } from '../../engines/contract/engine.js'
import type { Column } from '../../engines/contract/table.js'
import { anyTable, isWrite, type Statement } from '../../engines/contract/statement.js'
import type { Table } from '../model/table.js'

/** Called before each statement on a second shard. It may throw. */
export type OnSecondShard = (property: string, shards: readonly [unknown, unknown]) => void

export class ShardWatch {
  /** The shard columns of the tables. */
  readonly #columns = new Map<string | undefined, Column>()
  readonly #onSecond: OnSecondShard | undefined
  #shard: unknown
  /** Whether it wrote tables with shards, and others. */
  readonly #written = { sharded: false, others: false }

  /** @param onSecond undefined: the transaction may use several shards */
  constructor(tables: Iterable<Table>, onSecond: OnSecondShard | undefined) {
    for (const { name, shard } of tables) if (shard !== undefined) this.#columns.set(name, shard)
    this.#onSecond = onSecond
  }

  /** Whether the transaction wrote tables with shards and others, which may be on different servers. */
  get needsJointCommit(): boolean {
    return this.#written.sharded && this.#written.others
  }

  /** Called before each statement. */
  check(statement: Statement, values: Values): void {
    if (isWrite(statement)) this.#recordWrite(statement)
    if (this.#onSecond !== undefined) this.#checkShard(statement, values, this.#onSecond)
  }

  #recordWrite({ tables, kind }: Statement): void {
    // Custom SQL may write each of its tables.
    for (const name of kind === 'unknown' ? tables : tables.slice(0, 1)) {
      const isSharded = this.#columns.has(name)
      if (isSharded || name === anyTable) this.#written.sharded = true
      if (!isSharded) this.#written.others = true
    }
  }

  /** Reads the shard among the values of a statement. Custom SQL is not recognized. */
  #checkShard(
    { tables: [name], valueColumns }: Statement,
    values: Values,
    onSecond: OnSecondShard,
  ): void {
    if (valueColumns === undefined) return
    const shard = this.#columns.get(name)
    if (shard === undefined) return
    for (const [index, column] of valueColumns.entries()) {
      const value = values[index]
      if (column !== shard.name || value === null || value === undefined) continue
      this.#shard ??= value
      if (toText(this.#shard as string) === toText(value as string)) continue
      onSecond(shard.property, [this.#shard, value])
      return
    }
  }
}

function toText(value: string | number): string {
  return String(value)
}
