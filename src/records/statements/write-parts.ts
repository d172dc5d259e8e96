/**
 * The parts of a list of rows that need several statements: no statement has more than `maxRows` rows, and each change of a
 * sharded row names its shard. Source: decisions, Records: writes.
 */
import type { Instance, Table } from '../model/table.js'
import { isObject, namesRelations } from './read-tree.js'
import { selfReferencesOf } from './reference-order.js'
import { currentShard } from './shard.js'
import type { RecordsContext } from './source.js'

/** The maximum number of rows in one statement. */
export const maxRows = 5000

/** Whether new rows need several statements. Rows that refer to each other are ordered together, so they have no parts. */
export function isWrittenInParts(table: Table, rows: readonly object[]): boolean {
  if (rows.length <= maxRows || table.hasWriteHooks) return false
  return selfReferencesOf(table).length === 0 && !rows.some((row) => namesRelations(table, row))
}

/** Some of the rows of a list, which one statement may change. */
export interface Part {
  readonly indexes: readonly number[]
  /** The shard of all of them, if the table has shards. */
  readonly shard: unknown
}

/**
 * @returns `undefined` if one statement may change all rows, or the rows are changed one by one: each has hooks, or rows of
 * other tables
 */
export function partsOfChanges(
  table: Table,
  context: RecordsContext,
  rows: readonly object[],
): readonly Part[] | undefined {
  if (rows.length < 2 || table.hasWriteHooks || context.dialect.bulk.lists === undefined)
    return undefined
  if (table.shard === undefined && rows.length <= maxRows) return undefined
  if (rows.some((row) => !isObject(row) || namesRelations(table, row))) return undefined
  if (table.shard !== undefined) return partsByShard(table, context, rows)
  return partsOf([...rows.keys()], undefined)
}

/** Rows of one shard are changed in their order. A row without a valid shard is refused by its own write. */
function partsByShard(
  table: Table,
  context: RecordsContext,
  rows: readonly object[],
): readonly Part[] | undefined {
  const { property } = table.shard as NonNullable<Table['shard']>
  const codec = context.codecOf(table).byProperty.get(property)
  const groups = new Map<unknown, { shard: unknown; indexes: number[] }>()
  for (const [index, row] of rows.entries()) {
    const shard = (row as Instance)[property] ?? currentShard(table)
    if (shard === undefined || codec?.accepts(shard) !== true) return undefined
    const stored = codec.encode(shard)
    const group = groups.get(stored)
    if (group === undefined) groups.set(stored, { shard, indexes: [index] })
    // Two forms of one shard, such as a UUID in other letters.
    else if (group.shard !== shard) return undefined
    else group.indexes.push(index)
  }
  return [...groups.values()].flatMap(({ shard, indexes }) => partsOf(indexes, shard))
}

function partsOf(indexes: readonly number[], shard: unknown): Part[] {
  const parts: Part[] = []
  for (let first = 0; first < indexes.length; first += maxRows)
    parts.push({ indexes: indexes.slice(first, first + maxRows), shard })
  return parts
}
