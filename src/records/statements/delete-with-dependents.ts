/**
 * Deletes rows together with the rows that depend on them. The rows are visited level by level, so that hooks run once
 * for each row, cleared references count as changes, and the depth is not limited. Source: decisions, Records: writes.
 */
import type { Row } from '../../engines/contract/engine.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import { after, promise } from '../../core/maybe-promise.js'
import { storedColumnsOf, type Column } from '../../engines/contract/table.js'
import { noKeyOf } from '../model/record-key.js'
import { columnValuesOf } from '../model/codec.js'
import { arrangeValues, type Plan } from '../../sql/write-statement.js'
import type { PastRow, RowChanges } from '../changes/changes.js'
import { toConstraintName } from '../model/generated-names.js'
import { referencesTo } from '../model/relations.js'
import type { Relation, Table, Instance } from '../model/table.js'
import { changeLockedRow } from './change-row.js'
import { eachRow, updateTogether } from './change-rows.js'
import { runAfterCommit, runBeforeDelete, type HookedRow, type Writer } from './hooks.js'
import { countsChanges, referenceRulesOf } from './reference-rules.js'
import { inShard, keyValues } from './shard.js'
import { toId, toIds, withReadKeys } from './row-keys.js'
import type { Source } from './source.js'

/** Rows of one table and of one shard. */
export interface RowGroup {
  readonly table: Table
  /** In the driver's form. */
  readonly keys: readonly unknown[]
  /** The table and value of their shard. Undefined: the shard of the surrounding call. */
  readonly shard?: { readonly table: Table; readonly value: unknown } | undefined
  /** The complete rows, if they are already locked. */
  readonly rows?: readonly Row[] | undefined
}

interface DeletionWriter {
  /** The writer for hooks. Undefined: the caller of the current request. */
  readonly writer: Writer | undefined
}

/**
 * Deletes rows, or marks them as deleted, with everything that `onDelete` demands. It must run in a transaction.
 *
 * @returns the number of rows of the group that existed
 * @throws {EngineError} kind `reference`: rows that are not deleted refer to a row
 */
export function deleteGroup(
  group: RowGroup,
  source: Source,
  options: DeletionWriter,
): Promise<number> {
  return group.table.deletedAt === undefined
    ? new Deletion(source, options).run(group)
    : markAsDeleted(group, source, options)
}

/** One deletion by the database. */
class Deletion {
  readonly #source: Source
  readonly #options: DeletionWriter
  /** The groups in the order in which they were visited, the rows to delete first. */
  readonly #groups: RowGroup[] = []
  readonly #visitedRows = new Map<Table, Set<string>>()
  readonly #cleared: { readonly relation: Relation; readonly keys: readonly unknown[] }[] = []
  readonly #reports: RowChanges[] = []
  readonly #hookedRows: HookedRow[] = []

  constructor(source: Source, options: DeletionWriter) {
    this.#source = source
    this.#options = options
  }

  async run(root: RowGroup): Promise<number> {
    const roots = await within(root, () => this.#readRoots(root))
    if (roots.keys.length === 0) return 0
    this.#groups.push(roots)
    // The list grows during the loop.
    for (const group of this.#groups) await within(group, () => this.#visit(group))
    for (const { relation, keys } of this.#cleared) await this.#clear(relation, keys)
    await this.#cutCycles(roots)
    await this.#erase(roots)
    for (const changes of this.#reports.reverse()) this.#source.changed(changes)
    for (const row of this.#hookedRows) runAfterCommit(row, null)
    return roots.keys.length
  }

  async #readRoots(root: RowGroup): Promise<RowGroup> {
    const { table, rows } = root
    const { feed, context } = this.#source
    const past = feed.pastColumns(table)
    if (rows !== undefined && past.length === 0) {
      this.#addRows(
        table,
        past,
        root.keys.map((key) => [key]),
      )
      return root
    }
    const plan = context.plansOf(table).lockEach([table.key, ...past])
    const found = withReadKeys(table, this.#source, await runOnKeys(root, plan, this.#source))
    return { ...root, keys: this.#addRows(table, past, found).map(keyOf) }
  }

  /** Adds rows that were not visited before, and their report. @returns these rows */
  #addRows(table: Table, past: readonly Column[], rows: readonly Row[]): readonly Row[] {
    const visited = this.#visitedRows.get(table) ?? new Set()
    this.#visitedRows.set(table, visited)
    const shard = String(table.shard && keyValues(table, this.#source.context, null)[1])
    const newRows = rows.filter(([key]) => {
      const name = `${shard}:${String(key)}`
      return !visited.has(name) && visited.add(name)
    })
    const reported =
      table.deletedAt === undefined ? newRows : newRows.filter((row) => row.at(-1) === null)
    if (reported.length > 0) this.#reports.push(toDeleted(table, past, reported))
    return newRows
  }

  /** Runs the hooks of the rows, and finds the rows that depend on them. */
  async #visit(group: RowGroup): Promise<void> {
    const { table } = group
    if (table.hasDeleteHooks) await this.#runHooks(group)
    for (const relation of referenceRulesOf(table, this.#source.context).dependents) {
      if (relation.onDelete === 'setNull') {
        this.#cleared.push({ relation, keys: group.keys })
        continue
      }
      const isByShard = relation.local === relation.table.shard
      const parts = isByShard ? group.keys.map((key) => [key]) : [group.keys]
      for (const keys of parts) {
        const shard = isByShard ? { table: relation.table, value: keys[0] } : group.shard
        await within({ shard }, () => this.#addDependents(relation, keys, shard))
      }
    }
  }

  async #runHooks(group: RowGroup): Promise<void> {
    const { table } = group
    const rows = group.rows ?? (await lockRowsOf(group, this.#source))
    for (const row of rows) {
      const hooked = toHookedRow(table, row, this.#source, this.#options)
      await runBeforeDelete(hooked, hooked.before)
      this.#hookedRows.push(hooked)
    }
  }

  async #addDependents(
    relation: Relation,
    keys: readonly unknown[],
    shard: RowGroup['shard'],
  ): Promise<void> {
    const { table: referrer } = relation
    const { context, feed } = this.#source
    const isFollowed = await feed.follows(referrer, this.#source.runner())
    const { dependents } = referenceRulesOf(referrer, context)
    if (!isFollowed && !referrer.hasDeleteHooks && dependents.length === 0) return
    const past = feed.pastColumns(referrer)
    const marks = referrer.deletedAt === undefined ? [] : [referrer.deletedAt]
    const rows = await readDependents(
      relation,
      [referrer.key, ...past, ...marks],
      keys,
      this.#source,
    )
    const newRows = this.#addRows(referrer, past, rows)
    if (newRows.length > 0) this.#groups.push({ table: referrer, keys: newRows.map(keyOf), shard })
  }

  /** Sets references to deleted rows to null, except in rows that are deleted themselves. */
  async #clear(relation: Relation, keys: readonly unknown[]): Promise<void> {
    const { table: referrer } = relation
    const isFollowed = await this.#source.feed.follows(referrer, this.#source.runner())
    if (!countsChanges(referrer) && !isFollowed) return
    const deletedKeys = this.#groups
      .filter(({ table }) => table === referrer)
      .flatMap((group) => group.keys)
    await clearReferences(relation, keys, this.#source, { ...this.#options, deletedKeys })
  }

  /**
   * If too many rows depend on each other for the database, they are first made independent: their references become
   * null, or the key of one of the deleted rows.
   */
  async #cutCycles(roots: RowGroup): Promise<void> {
    const { context } = this.#source
    const { maxCascadeDepth } = context.dialect.tables
    const { cycles } = referenceRulesOf(roots.table, context)
    const tables = new Set(cycles.map(({ table }) => table))
    const groups = this.#groups.filter(({ table }) => tables.has(table))
    const count = groups.reduce((sum, { keys }) => sum + keys.length, 0)
    if (maxCascadeDepth === undefined || count <= maxCascadeDepth) return
    for (const { table: referrer, target, local } of cycles) {
      const [target0] = this.#groups.filter(({ table }) => table === target)
      const value = local.nullable ? null : target0?.keys[0]
      if (value === undefined) continue
      const values = columnValuesOf(local, value, context.codecOf(referrer))
      const plan = context.plansOf(referrer).replaceEach(storedColumnsOf(local))
      for (const group of groups)
        if (group.table === referrer) await writeOnKeys(group, plan, this.#source, values)
    }
    for (const group of groups) if (group !== roots) await this.#erase(group)
  }

  async #erase(group: RowGroup): Promise<void> {
    await writeOnKeys(group, this.#source.context.plansOf(group.table).erase(), this.#source)
  }
}

/**
 * Marks rows as deleted, and applies `onDelete` to the rows that refer to them as the database would. Rows are marked
 * before the rows that refer to them, because rows may refer to each other.
 */
async function markAsDeleted(
  root: RowGroup,
  source: Source,
  options: DeletionWriter,
): Promise<number> {
  const groups = [root]
  const marked: RowGroup[] = []
  let count: number | undefined
  // The list grows during the loop.
  for (const group of groups) {
    const dependents = await within(group, async () => {
      const keys = await markGroup(group, source, options)
      count ??= keys.length
      if (keys.length === 0) return []
      marked.push({ ...group, keys })
      return releaseReferences({ ...group, keys }, source, options)
    })
    groups.push(...dependents)
  }
  for (const group of marked) await within(group, () => checkNotReferred(group, source))
  return count ?? 0
}

/** @returns the keys of the rows that were not marked before */
async function markGroup(
  group: RowGroup,
  source: Source,
  options: DeletionWriter,
): Promise<readonly unknown[]> {
  const { table } = group
  const { context, feed } = source
  const hookedRows: HookedRow[] = []
  if (table.hasDeleteHooks)
    for (const row of group.rows ?? (await lockRowsOf(group, source))) {
      const hooked = toHookedRow(table, row, source, options)
      await runBeforeDelete(hooked, hooked.before)
      hookedRows.push(hooked)
    }
  const past = feed.pastColumns(table)
  const plan = context.plansOf(table).removeEach([table.key, ...past])
  const time = new Date(context.now()).toISOString()
  const rows = withReadKeys(table, source, await runOnKeys(group, plan, source, [time]))
  if (rows.length > 0) source.changed(toDeleted(table, past, rows))
  for (const row of hookedRows) runAfterCommit(row, null)
  return rows.map(keyOf)
}

/** Deletes the rows that depend on marked rows, and clears other references. @returns rows that must be marked too */
async function releaseReferences(
  { table, keys, shard }: RowGroup,
  source: Source,
  options: DeletionWriter,
): Promise<readonly RowGroup[]> {
  const dependents: RowGroup[] = []
  for (const relation of referenceRulesOf(table, source.context).dependents) {
    const { table: referrer } = relation
    if (relation.onDelete === 'setNull') {
      await clearReferences(relation, keys, source, { ...options, deletedKeys: [] })
      continue
    }
    const marks = referrer.deletedAt === undefined ? [] : [referrer.deletedAt]
    const rows = await readDependents(relation, [referrer.key, ...marks], keys, source)
    const found = marks.length === 0 ? rows : rows.filter(([, mark]) => mark === null)
    if (found.length === 0) continue
    const group: RowGroup = { table: referrer, keys: found.map(keyOf), shard }
    if (referrer.deletedAt === undefined) await deleteGroup(group, source, options)
    else dependents.push(group)
  }
  return dependents
}

/** Refuses marks as the database refuses deletions. @throws {EngineError} rows that are not deleted refer to a row */
async function checkNotReferred({ table, keys }: RowGroup, source: Source): Promise<void> {
  const { context } = source
  for (const relation of referencesTo(context.tables, table)) {
    if (relation.onDelete !== 'restrict') continue
    const { table: referrer, local } = relation
    const packed = context.dialect.lists.encode(local, keys)
    const values = local === referrer.shard ? [packed] : keyValues(referrer, context, packed)
    const plan = context.plansOf(referrer).refersToSome(local)
    const all = arrangeValues(plan, values)
    if ((await source.runner().run(plan.statement, all, 'first')) === undefined) continue
    throw new EngineError('reference', 'The row is still referred to.', undefined, {
      constraint: toConstraintName(referrer.name, local.name),
    })
  }
}

/** The number of keys in one filter. */
const keysPerFilter = 1000

/** Sets references to rows to null. Such a change counts like any other: versions, times, hooks and events. */
async function clearReferences(
  { table: referrer, local }: Relation,
  keys: readonly unknown[],
  source: Source,
  {
    writer,
    deletedKeys,
  }: DeletionWriter & {
    /** Rows of the referrer that are deleted too, and therefore not changed. */
    readonly deletedKeys: readonly unknown[]
  },
): Promise<void> {
  const isFollowed = await source.feed.follows(referrer, source.runner())
  const values = noKeyOf(local)
  const excluded =
    deletedKeys.length === 0
      ? []
      : [
          {
            not: {
              [referrer.key.property]: { in: deletedKeys.map((key) => toId(referrer.key, key)) },
            },
          },
        ]
  for (let start = 0; start < keys.length; start += keysPerFilter) {
    const ids = keys.slice(start, start + keysPerFilter).map((key) => toId(local, key))
    const where = { and: [{ [local.property]: { in: ids } }, ...excluded] }
    // Watchers need the row values, which are read with each row.
    if (referrer.hasWriteHooks || (isFollowed && source.feed.needsRowValues(referrer)))
      await eachRow(referrer, source, where, async (key, row) => {
        await changeLockedRow(referrer, source, { key, row, change: { values, writer } })
      })
    else
      await updateTogether(referrer, source, where, {
        record: values,
        sums: [],
        reportsRows: isFollowed,
      })
  }
}

function readDependents(
  relation: Relation,
  columns: readonly Column[],
  keys: readonly unknown[],
  source: Source,
): Promise<readonly Row[]> {
  const { context } = source
  const { table: referrer, local, shards } = relation
  const plan = context.plansOf(referrer).dependents(relation, columns)
  const packed = context.dialect.lists.encode(local, keys)
  const values = shards === undefined ? [packed] : keyValues(referrer, context, packed)
  const found = source.runner().run(plan.statement, arrangeValues(plan, values), 'rows')
  return promise(() => after(found, (rows) => withReadKeys(referrer, source, rows)))
}

/** The complete rows of a group that are not marked as deleted, locked. */
function lockRowsOf(group: RowGroup, source: Source): Promise<readonly Row[]> {
  return runOnKeys(group, source.context.plansOf(group.table).lockEach(), source)
}

/** @param before the values before the keys */
function runOnKeys(
  group: RowGroup,
  plan: Plan,
  source: Source,
  before: readonly unknown[] = [],
): Promise<readonly Row[]> {
  return within(group, async () => {
    const values = valuesWithKeys(group, source, before)
    return source.runner().run(plan.statement, arrangeValues(plan, values), 'rows')
  })
}

/** As `runOnKeys`, for a statement that returns nothing. */
function writeOnKeys(
  group: RowGroup,
  plan: Plan,
  source: Source,
  before: readonly unknown[] = [],
): Promise<number> {
  return within(group, async () => {
    const values = valuesWithKeys(group, source, before)
    return source.runner().run(plan.statement, arrangeValues(plan, values), 'count')
  })
}

function valuesWithKeys(
  { table, keys }: RowGroup,
  { context }: Source,
  before: readonly unknown[],
): unknown[] {
  const packed = context.dialect.lists.encode(table.key, keys)
  return [...before, ...keyValues(table, context, packed)]
}

function within<R>({ shard }: Pick<RowGroup, 'shard'>, work: () => R): R {
  return shard === undefined ? work() : inShard(shard.table, shard.value, work)
}

function toHookedRow(
  table: Table,
  row: Row,
  source: Source,
  { writer }: DeletionWriter,
): HookedRow & { readonly before: Instance } {
  const before = source.context.codecOf(table).readRow(row) as Instance
  return { table, source, before, writer }
}

/** The report of deleted rows, whose values begin with the key and the past columns. */
export function toDeleted(
  table: Table,
  columns: readonly Column[],
  rows: readonly Row[],
): RowChanges {
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
