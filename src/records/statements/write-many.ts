/**
 * Writes many rows with one statement each, if no row must be checked alone. If such a statement is refused, the rows
 * are written one by one, which tells the row of an error. Source: decisions, Second storey: records, Many.
 */
import { isThenable } from '../../core/later.js'
import { EngineFault } from '../../engines/contract/engine.js'
import type { Id } from '../filters/list-options.js'
import { toKey } from '../model/key.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import { hasWriteHooks } from '../model/write-hooks.js'
import { namesRelations } from './read-nested.js'
import { hasAddition } from './additions.js'
import { arrange, type Plan } from '../../sql/write.js'
import { readColumnTypes } from './column-types.js'
import { mustHold } from './delete-rows.js'
import { toIds } from './delete-row.js'
import { isInTransaction } from './guarded-runner.js'
import { withShard } from './shard.js'
import type { Source } from './source.js'
import { toUnavailable } from './write-faults.js'
import { ofRow, type ChangedRow } from './write-each.js'
import { readMeant } from './write-options.js'
import { announced, type Instance } from './write-row.js'
import { valuesToInsert, valuesToUpdate } from './write-values.js'

/** The most rows of one statement. */
const mostRows = 5000

/** @returns the records in order; `undefined` if they must be written one by one */
export async function createTogether(
  table: Table,
  source: Source,
  rows: readonly object[],
): Promise<Instance[] | undefined> {
  const { context } = source
  if (!Array.isArray(rows) || rows.length < 2 || rows.length > mostRows) return undefined
  if (hasWriteHooks(table) || context.dialect.lists === undefined) return undefined
  const codec = context.codecOf(table)
  const { create } = context.checksOf(table)
  const written: unknown[][] = []
  let alike: readonly Column[] | undefined
  if (rows.some((row) => namesRelations(table, row))) return undefined
  for (const [index, row] of rows.entries()) {
    const checking = ofRow(index, () => create(withShard(table, row)))
    const record = isThenable(checking) ? await checking : checking
    if (table.version !== undefined) record[table.version.property] = 1
    const { columns, values } = valuesToInsert(table, codec, record)
    alike ??= columns
    if (columns.length !== alike.length) return undefined
    written.push(values)
  }
  const columns = alike ?? []
  if (columns.length === 0) return undefined
  return together(table, source, async (here) => {
    const types = await typesOf(table, here, columns)
    const plan = here.context.plansOf(table).insert(columns, types, 'row')
    const records = await runLists(table, here, { plan, rows: written, count: columns.length })
    const place = columns.indexOf(table.key)
    const ordered = place < 0 ? records : inOrder(table, records, written, place)
    tell(table, here, 'created', ordered)
    return ordered
  })
}

/** @returns as `createTogether`. @throws {HttpError} 404 if one of them does not exist */
export async function changeTogether(
  table: Table,
  source: Source,
  rows: readonly ChangedRow[],
): Promise<Instance[] | undefined> {
  const changes = await readChanges(table, source, rows)
  if (changes === undefined) return undefined
  const { columns, written } = changes
  return together(table, source, async (here) => {
    const types = await typesOf(table, here, [table.key, ...columns])
    const plan = here.context.plansOf(table).updateEach(columns, types)
    const count = columns.length + 1
    const records = await runLists(table, here, { plan, rows: written, count, isCounted: true })
    // None was changed: who changes them one by one says which is not there.
    if (records.length < rows.length) return undefined
    const ordered = inOrder(table, records, written, 0)
    tell(table, here, 'updated', ordered)
    return ordered
  })
}

/** @returns how many existed; `undefined` if they must be deleted one by one */
export async function deleteTogether(
  table: Table,
  source: Source,
  ids: readonly Id[],
): Promise<number | undefined> {
  if (!Array.isArray(ids) || ids.length < 2 || table.shard !== undefined) return undefined
  const { context } = source
  if (mustHold(table, context)) return undefined
  const codec = context.codecOf(table)
  const keys = new Set(ids.map((id) => toKey(codec, id)).filter((key) => key !== undefined))
  return together(table, source, async (here) => {
    // Listeners must know what else was deleted.
    if (await here.feed.isFollowed(here.runner())) return undefined
    const list = context.dialect.encodeList(table.key, [...keys])
    const moment = table.deletedAt === undefined ? [] : [new Date(context.now()).toISOString()]
    const plan = context.plansOf(table).removeEach()
    const gone = await here.runner().run(plan.statement, arrange(plan, [...moment, list]), 'rows')
    if (gone.length > 0) here.changed({ event: 'deleted', table, ids: toIds(table, gone) })
    return gone.length
  })
}

interface Changes {
  readonly columns: readonly Column[]
  /** For each row the key, then the values of the columns. */
  readonly written: readonly unknown[][]
}

/** @returns `undefined` if the rows have different fields, or one must be read first */
async function readChanges(
  table: Table,
  { context }: Source,
  rows: readonly ChangedRow[],
): Promise<Changes | undefined> {
  if (!Array.isArray(rows) || rows.length < 2 || rows.length > mostRows) return undefined
  const checks = context.checksOf(table)
  if (hasWriteHooks(table) || checks.row !== undefined) return undefined
  // Each row is found by its own shard.
  if (table.shard !== undefined) return undefined
  if (context.dialect.lists === undefined) return undefined
  const codec = context.codecOf(table)
  const written: unknown[][] = []
  const seen = new Set<unknown>()
  let alike: readonly Column[] | undefined
  for (const [index, row] of (rows as readonly ChangedRow[]).entries()) {
    const key = toKey(codec, row[table.key.property])
    if (key === undefined || seen.has(key) || namesRelations(table, row)) return undefined
    seen.add(key)
    const { values: given, expected } = readMeant(table, codec, key, row)
    if (expected !== undefined || hasAddition(table, given)) return undefined
    const checking = ofRow(index, () => checks.update(given))
    const record = isThenable(checking) ? await checking : checking
    const { columns, values } = valuesToUpdate(table, codec, record, context)
    alike ??= columns
    if (columns.length === 0 || !isAlike(columns, alike)) return undefined
    written.push([key, ...values])
  }
  return alike === undefined ? undefined : { columns: alike, written }
}

function isAlike(columns: readonly Column[], others: readonly Column[]): boolean {
  return columns.length === others.length && columns.every((one, place) => one === others[place])
}

/**
 * Runs a statement for many rows in a part of the transaction that can be rolled back.
 *
 * @returns `undefined` where it was refused
 */
async function together<R>(
  table: Table,
  source: Source,
  work: (here: Source) => Promise<R | undefined>,
): Promise<R | undefined> {
  const plans = source.context.plansOf(table)
  const isPart = isInTransaction(source.runner())
  try {
    if (isPart) return await source.atomically(work)
    return await announced<R | undefined>(table, source, work)
  } catch (error) {
    if (!isRefused(error, isPart)) throw toUnavailable(error)
    plans.types = undefined
    return undefined
  }
}

/** Faults caused by a single row, by a changed column type, or by others for whom single writes would wait. */
function isRefused(error: unknown, isPart: boolean): boolean {
  if (!(error instanceof EngineFault) || error.kind === 'unavailable') return false
  return error.kind !== 'conflict' || !isPart
}

async function typesOf(
  table: Table,
  here: Source,
  columns: readonly Column[],
): Promise<readonly string[]> {
  const plans = here.context.plansOf(table)
  plans.types ??= readColumnTypes(table, here.runner(), here.context.dialect.lists?.types ?? '')
  const types = await plans.types
  return columns.map(({ name }) => types.get(name) ?? 'text')
}

interface Lists {
  readonly plan: Plan
  readonly rows: readonly unknown[][]
  /** How many values each of them has. */
  readonly count: number
  /** Their number is the last value. */
  readonly isCounted?: boolean
}

async function runLists(
  table: Table,
  here: Source,
  { plan, rows, count, isCounted = false }: Lists,
): Promise<Instance[]> {
  const { lists } = here.context.dialect
  const values = Array.from({ length: count }, (_, place) => lists?.write(rows, place))
  if (isCounted) values.push(rows.length)
  const found = await here.runner().run(plan.statement, arrange(plan, values), 'rows')
  const { readRow } = here.context.codecOf(table)
  return found.map((row) => readRow(row) as Instance)
}

/** The records in the order of the rows with their keys at a place; undefined where a record is missing. */
function inOrder(
  { key }: Table,
  records: readonly Instance[],
  rows: readonly unknown[][],
  place: number,
): Instance[] {
  const byKey = new Map(records.map((record) => [String(record[key.property]), record]))
  return rows.map((row) => byKey.get(String(row[place])) as Instance)
}

function tell(
  table: Table,
  here: Source,
  event: 'created' | 'updated',
  records: readonly Instance[],
): void {
  here.changed({ event, table, ids: records.map((record) => record[table.key.property] as Id) })
}
