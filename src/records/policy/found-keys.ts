/** The keys of rows that a check of many rows has found, so that rows with equal keys are looked up once. */
import type { Id } from '../filters/list-options.js'
import type { Table } from '../model/table.js'
import { toKeyText } from '../statements/write-tree.js'

/** Bounds the memory. A file rarely refers to more rows. */
const maxKeys = 100_000

export class FoundKeys {
  readonly #byTable = new Map<Table, Set<string>>()
  #count = 0

  /** The keys that must be looked up. */
  without(table: Table, keys: readonly Id[]): readonly Id[] {
    const found = this.#byTable.get(table)
    return found === undefined ? keys : keys.filter((key) => !found.has(toKeyText(key)))
  }

  add(table: Table, keys: readonly unknown[]): void {
    // The rows of a shard exist for its callers only.
    if (table.shard !== undefined || this.#count >= maxKeys) return
    const found = this.#byTable.get(table) ?? new Set()
    this.#byTable.set(table, found)
    this.#count -= found.size
    for (const key of keys) found.add(toKeyText(key))
    this.#count += found.size
  }
}
