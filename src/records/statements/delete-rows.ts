/**
 * Deletes all rows that match a filter, and single rows that must be read first: because of their version, of hooks, or
 * of hooks of the rows that the database deletes with them. Source: decisions, Records: writes.
 */
import { type MaybePromise, attempt } from '../../core/maybe-promise.js'
import type { Row } from '../../engines/contract/engine.js'
import type { Isolation } from '../../core/transaction.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import type { Column } from '../../engines/contract/table.js'
import { arrangeValues } from '../../sql/write-statement.js'
import { rejectUndefined } from '../filters/list-options.js'
import { toConstraintName } from '../model/column-names.js'
import { isolationOf, hasDeleteHooks } from '../model/write-hooks.js'
import { keyValues } from './shard.js'
import { referencesTo } from '../model/relations.js'
import type { Relation, Table } from '../model/table.js'
import { holdRows, inTransaction, refuseOld, selectOne } from './change-row.js'
import { changeAll, eachRow, selectAll, updateAtOnce } from './change-rows.js'
import { deleteRow } from './delete-row.js'
import { runAfterCommit, runBeforeDelete, type HookedRow, type Writer } from './hooks.js'
import type { RecordsContext, Source } from './source.js'
import { toClientError } from './client-errors.js'
import type { Instance } from './write-row.js'

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
      if (isPlain) return deleteAtOnce(table, here, where)
      return eachRow(table, here, where, async (key, row) => {
        await attempt<boolean>(
          () => deleteHeld(table, here, { key, row, writer }),
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

function deleteAtOnce(table: Table, here: Source, where: unknown): Promise<number> {
  const { selection, values } = selectAll(table, here, where)
  const plan = here.context.plansOf(table).removeAll(selection)
  const deletionTime =
    table.deletedAt === undefined ? [] : [new Date(here.context.now()).toISOString()]
  return changeAll(table, here, { plan, values: [...values, ...deletionTime], doing: 'delete' })
}

/** True if rows of the table cannot be deleted without reading each of them. */
export function mustReadBeforeDelete(
  table: Table,
  { tables }: Pick<RecordsContext, 'tables'>,
): boolean {
  if (hasDeleteHooks(table)) return true
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
    const [row] = await holdRows(table, here, selectOne(table, here, key, { values: {} }), 1)
    if (row === undefined) return false
    refuseOld(table, here.context.codecOf(table).readRow(row) as Instance, expected)
    return deleteHeld(table, here, { key, row, writer })
  }
  const isolation = isolationToDelete(table, source.context)
  // A soft deletion also writes the rows that refer to the row, all or nothing.
  return table.deletedAt !== undefined && mustReadBeforeDelete(table, source.context)
    ? source.atomically(work, isolation)
    : inTransaction(table, source, work, isolation)
}

interface HeldDeletion {
  readonly key: unknown
  readonly row: Row
  readonly writer: Writer | undefined
}

/** Deletes a locked row, with its hooks and those of the rows that are deleted with it. */
function deleteHeld(
  table: Table,
  source: Source,
  { key, row, writer }: HeldDeletion,
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
      await updateAtOnce(owner, source, where, { record, sums: [], reportsRows })
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
      (hasDeleteHooks(owner) || hookedBelow(owner, tables, path).length > 0),
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
