/**
 * Deletes one row by its key, or all rows that match a filter. Rows are read first if their version is checked, or if
 * hooks run for them or for rows that the database deletes with them. If changes are watched, the other rows that the
 * database deletes, or that lose their reference, are found too. Source: decisions, Records: writes.
 */
import { type MaybePromise, attempt, after } from '../../core/maybe-promise.js'
import type { Row } from '../../engines/contract/engine.js'
import type { Isolation } from '../../core/transaction.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import type { Column } from '../../engines/contract/table.js'
import { arrangeValues } from '../../sql/write-statement.js'
import { rejectUndefined, type Id } from '../filters/list-options.js'
import { toConstraintName } from '../model/generated-names.js'
import { isolationOf } from '../model/write-hooks.js'
import { keyValues, inShard } from './shard.js'
import { referencesTo } from '../model/relations.js'
import type { Relation, Table } from '../model/table.js'
import { lockRows, inTransaction, refuseOtherVersion, selectOne } from './change-row.js'
import { changeAll, eachRow, selectAll, updateTogether } from './change-rows.js'
import { runAfterCommit, runBeforeDelete, type HookedRow, type Writer } from './hooks.js'
import type { RecordsContext, Source } from './source.js'
import { toClientError } from './client-errors.js'
import { type Instance, toIds } from './write-row.js'
import type { PastRow, RowChanges } from '../changes/changes.js'

/**
 * Deletes a row with one statement, without its hooks.
 *
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

/**
 * Deletes a row whose changes are watched. The values by which listeners decide who could see it are returned by the
 * statement.
 */
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
    const dependentChanges =
      table.deletedAt === undefined ? await readDependentChanges(table, [key], transaction) : []
    const columns = feed.pastColumns(table)
    const { statement } = context.plansOf(table).remove([table.key, ...columns], hasVersion)
    const rows = await transaction.runner().run(statement, values, 'rows')
    if (rows.length === 0) return false
    for (const changes of [...dependentChanges, toDeleted(table, columns, rows)])
      transaction.changed(changes)
    return true
  })
}

/** The rows that the database deletes or changes together with these rows, the outermost first. */
async function readDependentChanges(
  table: Table,
  keys: readonly unknown[],
  source: Source,
  visitedRows = new Set<string>(),
): Promise<RowChanges[]> {
  const dependentChanges: RowChanges[] = []
  for (const relation of dependents(table, source.context.tables)) {
    const owner = relation.table
    const isDeleted = relation.onDelete === 'cascade'
    const isFollowed = await source.feed.follows(owner, source.runner())
    const hasOwnDependents = isDeleted && dependents(owner, source.context.tables).length > 0
    if (!isFollowed && !hasOwnDependents) continue
    const columns = isDeleted ? source.feed.pastColumns(owner) : []
    const rows = (await readDependents(relation, columns, keys, source)).filter(([key]) => {
      const name = `${owner.name}:${String(key)}`
      return !visitedRows.has(name) && visitedRows.add(name)
    })
    if (rows.length === 0) continue
    if (isDeleted) {
      const below = (): Promise<RowChanges[]> =>
        readDependentChanges(owner, rows.map(keyOf), source, visitedRows)
      dependentChanges.push(
        ...(await (relation.local === owner.shard ? inShard(owner, keys[0], below) : below())),
      )
      dependentChanges.push(toDeleted(owner, columns, rows))
    } else dependentChanges.push({ event: 'updated', table: owner, ids: toIds(owner, rows) })
  }
  return dependentChanges
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

function keyOf([key]: Row): unknown {
  return key
}

/** @returns the number of deleted rows */
export function deleteWhere(
  table: Table,
  source: Source,
  where: unknown,
  writer?: Writer,
): Promise<number> {
  rejectUndefined({ where })
  return source.atomically(
    async (here) => {
      const isPlain =
        !mustReadBeforeDelete(table, here.context) && !(await here.feed.isFollowed(here.runner()))
      if (isPlain) return deletePlainly(table, here, where)
      return eachRow(table, here, where, async (key, row) => {
        await attempt<boolean>(
          () => deleteLockedRow(table, here, { key, row, writer }),
          (error) => {
            throw toClientError(error, table, 'delete')
          },
        )
      })
    },
    isolationToDelete(table, source.context),
  )
}

/**
 * The isolation for the hooks that run when a row is deleted: hooks of the table, and of rows that are deleted with
 * it.
 */
export function isolationToDelete(
  table: Table,
  context: Pick<RecordsContext, 'tables'>,
): Isolation | undefined {
  if (!mustReadBeforeDelete(table, context)) return undefined
  const tables = new Set([table])
  // The list grows during the loop, so that the owners of owners are found too.
  for (const one of tables) {
    const relations =
      one.deletedAt === undefined
        ? hookedBelow(one, context.tables)
        : referencesTo(context.tables, one).filter(({ onDelete }) => onDelete === 'cascade')
    for (const { table: owner } of relations) tables.add(owner)
  }
  return isolationOf(tables)
}

function deletePlainly(table: Table, here: Source, where: unknown): Promise<number> {
  const { selection, values } = selectAll(table, here, where)
  const plan = here.context.plansOf(table).removeAll(selection)
  const deletionTime =
    table.deletedAt === undefined ? [] : [new Date(here.context.now()).toISOString()]
  return changeAll(table, here, { plan, values: [...values, ...deletionTime], purpose: 'delete' })
}

/** True if rows of the table cannot be deleted without reading each of them. */
export function mustReadBeforeDelete(
  table: Table,
  { tables }: Pick<RecordsContext, 'tables'>,
): boolean {
  if (table.hasDeleteHooks) return true
  if (table.deletedAt !== undefined) return referencesTo(tables, table).length > 0
  return hookedBelow(table, tables).length > 0
}

export interface DeleteConditions {
  /** Delete only a row at one of these versions. */
  readonly expected: readonly number[] | undefined
  /** The writer for hooks. Undefined: the caller of the current request. */
  readonly writer: Writer | undefined
}

/**
 * @param key in the driver's form
 * @returns false if no row has the key, or it is already marked as deleted
 * @throws {HttpError} 409 `CONFLICT` if it is at another version
 */
export function deleteChecked(
  table: Table,
  source: Source,
  key: unknown,
  { expected, writer }: DeleteConditions,
): Promise<boolean> {
  const work = async (here: Source): Promise<boolean> => {
    const [row] = await lockRows(table, here, selectOne(table, here, key, { values: {} }), 1)
    if (row === undefined) return false
    refuseOtherVersion(table, here.context.codecOf(table).readRow(row) as Instance, expected)
    return deleteLockedRow(table, here, { key, row, writer })
  }
  const isolation = isolationToDelete(table, source.context)
  // A soft deletion also writes the rows that refer to the row, all or nothing.
  return table.deletedAt !== undefined && mustReadBeforeDelete(table, source.context)
    ? source.atomically(work, isolation)
    : inTransaction(table, source, work, isolation)
}

interface LockedRowDeletion {
  readonly key: unknown
  readonly row: Row
  readonly writer: Writer | undefined
}

/** Deletes a locked row. Its hooks run, and the hooks of the rows that are deleted with it. */
function deleteLockedRow(
  table: Table,
  source: Source,
  { key, row, writer }: LockedRowDeletion,
): MaybePromise<boolean> {
  const { context } = source
  if (!mustReadBeforeDelete(table, context)) return deleteRow(table, source, key)
  const before = context.codecOf(table).readRow(row) as Instance
  const deleted: HookedRow = { table, source, before, writer }
  return (async () => {
    await runBeforeDelete(deleted, before)
    for (const { table: owner, local, foreign } of hookedBelow(table, context.tables))
      await deleteWhere(owner, source, { [local.property]: before[foreign.property] }, writer)
    const references = table.deletedAt === undefined ? none : referencesTo(context.tables, table)
    await refuseReferred(references, source, before)
    const isDeleted = await deleteRow(table, source, key)
    // The row itself is deleted first, because rows may refer to each other.
    if (isDeleted) await releaseReferences(references, source, before, writer)
    if (isDeleted) runAfterCommit(deleted, null)
    return isDeleted
  })()
}

/**
 * Refuses a soft deletion as the database refuses a real one.
 *
 * @throws {EngineError} rows that are not deleted refer to the row
 */
async function refuseReferred(
  references: readonly Relation[],
  source: Source,
  row: Instance,
): Promise<void> {
  const { context } = source
  for (const { table: owner, target, local, foreign, onDelete } of references) {
    if (onDelete !== 'restrict') continue
    const key = context
      .codecOf(target)
      .byProperty.get(foreign.property)
      ?.encode(row[foreign.property])
    const { statement } = context.plansOf(owner).refers(local, false)
    const values = local === owner.shard ? [key] : keyValues(owner, context, key)
    const found = await source.runner().run(statement, values, 'first')
    if (found === undefined || (await isOnlyItself(owner, target, local, row, source))) continue
    throw new EngineError('reference', 'The row is still referred to.', undefined, {
      constraint: toConstraintName(owner.name, local.name),
    })
  }
}

/** True if the only reference to a row is its own. */
async function isOnlyItself(
  owner: Table,
  target: Table,
  local: Column,
  row: Instance,
  source: Source,
): Promise<boolean> {
  const { property } = target.key
  if (owner !== target || String(row[local.property]) !== String(row[property])) return false
  const where = { [local.property]: row[property], [property]: { ne: row[property] } }
  const { selection, values } = selectAll(owner, source, where)
  const plan = source.context.plansOf(owner).countUpTo(selection)
  const found = await source
    .runner()
    .run(plan.statement, arrangeValues(plan, [...values, 1]), 'first')
  return Number(found?.[0]) === 0
}

/** Deletes the rows that depend on a soft-deleted row, and sets other references to it to null. */
async function releaseReferences(
  references: readonly Relation[],
  source: Source,
  row: Instance,
  writer: Writer | undefined,
): Promise<void> {
  for (const { table: owner, local, foreign, onDelete } of references) {
    if (onDelete === 'restrict') continue
    const where = { [local.property]: row[foreign.property] }
    if (onDelete === 'cascade') await deleteWhere(owner, source, where, writer)
    else {
      const reportsRows = await source.feed.follows(owner, source.runner())
      const record = { [local.property]: null }
      await updateTogether(owner, source, where, { record, sums: [], reportsRows })
    }
  }
}

/**
 * The relations by which the database deletes rows with hooks, directly or indirectly, together with a row of the
 * table.
 */
function hookedBelow(
  table: Table,
  tables: ReadonlySet<Table>,
  visitedTables: ReadonlySet<Table> = new Set(),
): readonly Relation[] {
  if (table.deletedAt !== undefined || visitedTables.has(table)) return none
  const cachedRelations = relationsByTable.get(table)
  if (cachedRelations?.of === tables && cachedRelations.size === tables.size)
    return cachedRelations.relations
  const path = new Set([...visitedTables, table])
  const relations = referencesTo(tables, table).filter(
    ({ onDelete, table: owner }) =>
      onDelete === 'cascade' &&
      (owner.hasDeleteHooks || hookedBelow(owner, tables, path).length > 0),
  )
  // In a cycle of tables the result depends on the starting point, so only the outermost result is cached.
  if (visitedTables.size === 0)
    relationsByTable.set(table, { of: tables, size: tables.size, relations })
  return relations
}

const none: readonly Relation[] = Object.freeze([])

/** The cache is valid for the number of known tables. */
const relationsByTable = new WeakMap<
  Table,
  {
    readonly of: ReadonlySet<Table>
    readonly size: number
    readonly relations: readonly Relation[]
  }
>()
