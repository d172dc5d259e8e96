/**
 * Deletes a row. If changes are watched, it finds the other rows that the database deletes or that lose their
 * reference. It also reads the values by which listeners decide who could see the row.
 */
import type { PastRow, RowChanges } from '../changes/changes.js'
import { type MaybePromise, after } from '../../core/maybe-promise.js'
import type { Row } from '../../engines/contract/engine.js'
import type { Id } from '../filters/list-options.js'
import { referencesTo } from '../model/relations.js'
import { inShard, keyValues } from './shard.js'
import type { Source } from './source.js'
import type { Column } from '../../engines/contract/table.js'
import type { Relation, Table } from '../model/table.js'

/**
 * @param key in the driver's form
 * @param version delete only a row at this version
 * @returns false if no row has the key, if it is already marked as deleted, or if it is at another version
 */
export function deleteRow(
  table: Table,
  source: Source,
  key: unknown,
  version?: number,
): MaybePromise<boolean> {
  const isMarked = table.deletedAt !== undefined
  const keys = keyValues(table, source.context, key)
  const hasVersion = version !== undefined
  if (hasVersion) keys.push(version)
  const values = isMarked ? [new Date(source.context.now()).toISOString(), ...keys] : keys
  return after(source.feed.isFollowed(source.runner()), (isFollowed) => {
    if (isFollowed) return deleteFollowed(table, source, { key, values, hasVersion })
    const { statement } = source.context.plansOf(table).remove([], hasVersion)
    return after(source.runner().run(statement, values, 'count'), (count) => {
      if (count > 0) source.changed({ event: 'deleted', table, ids: [key as Id] })
      return count > 0
    })
  })
}

function deleteFollowed(
  table: Table,
  source: Source,
  {
    key,
    values,
    hasVersion,
  }: { readonly key: unknown; readonly values: readonly unknown[]; readonly hasVersion: boolean },
): Promise<boolean> {
  return source.atomically(async (transaction) => {
    const { feed, context } = transaction
    const along = table.deletedAt === undefined ? await readAlong(table, [key], transaction) : []
    const columns = feed.pastColumns(table)
    const { statement } = context.plansOf(table).remove([table.key, ...columns], hasVersion)
    const rows = await transaction.runner().run(statement, values, 'rows')
    if (rows.length === 0) return false
    for (const changes of [...along, toDeleted(table, columns, rows)]) transaction.changed(changes)
    return true
  })
}

/** The rows that the database deletes or changes together with these, the outermost first. */
async function readAlong(
  table: Table,
  keys: readonly unknown[],
  source: Source,
  visitedRows = new Set<string>(),
): Promise<RowChanges[]> {
  const along: RowChanges[] = []
  for (const relation of dependents(table, source.context.tables)) {
    const owner = relation.table
    const isDeleted = relation.onDelete === 'cascade'
    const isFollowed = await source.feed.follows(owner, source.runner())
    const leadsOn = isDeleted && dependents(owner, source.context.tables).length > 0
    if (!isFollowed && !leadsOn) continue
    const columns = isDeleted ? source.feed.pastColumns(owner) : []
    const rows = (await readDependents(relation, columns, keys, source)).filter(([key]) => {
      const name = `${owner.name}:${String(key)}`
      return !visitedRows.has(name) && visitedRows.add(name)
    })
    if (rows.length === 0) continue
    if (isDeleted) {
      const below = (): Promise<RowChanges[]> =>
        readAlong(owner, rows.map(keyOf), source, visitedRows)
      along.push(
        ...(await (relation.local === owner.shard ? inShard(owner, keys[0], below) : below())),
      )
      along.push(toDeleted(owner, columns, rows))
    } else along.push({ event: 'updated', table: owner, ids: toIds(owner, rows) })
  }
  return along
}

/** The relations by which rows of other tables are deleted or changed with a row of this table. */
function dependents(table: Table, tables: ReadonlySet<Table>): Relation[] {
  return referencesTo(tables, table).filter(({ onDelete }) => onDelete !== 'restrict')
}

async function readDependents(
  relation: Relation,
  columns: readonly Column[],
  keys: readonly unknown[],
  source: Source,
): Promise<readonly Row[]> {
  const { context } = source
  const { table } = relation
  const { statement } = context.plansOf(table).dependents(relation, [table.key, ...columns])
  const packed = context.dialect.encodeList(relation.local, keys)
  const values = relation.shards === undefined ? [packed] : keyValues(table, context, packed)
  return source.runner().run(statement, values, 'rows')
}

function toDeleted(table: Table, columns: readonly Column[], rows: readonly Row[]): RowChanges {
  const ids = toIds(table, rows)
  if (columns.length === 0) return { event: 'deleted', table, ids }
  const past = rows.map((row): PastRow =>
    Object.fromEntries(columns.map(({ name }, index) => [name, row[index + 1]])),
  )
  return { event: 'deleted', table, ids, past }
}

/** The keys at the beginning of rows, in the form of records. */
export function toIds({ key }: Table, rows: readonly Row[]): Id[] {
  return rows.map(([id]) => (key.isUuid ? String(id) : Number(id)))
}

function keyOf([key]: Row): unknown {
  return key
}
