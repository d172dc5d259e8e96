/**
 * Checks a row that a client would write, by reads alone: it takes no lock and no key of a sequence, and runs no hook.
 * Constraints of the database and unique indexes over some of the rows are checked by the write only. Hooks before a write may
 * change the row, so then its references, its unique values and its visibility are checked by the write too. Source:
 * decisions, Admin page and CSV.
 */
import { promise, type MaybePromise } from '../../core/maybe-promise.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import { storedColumnsOf, type Column, type TableIndex } from '../../engines/contract/table.js'
import { uniqueIndexesOf } from '../../sql/table.js'
import { columnsOfLeaf, leavesOf } from '../../sql/condition.js'
import { arrangeValues } from '../../sql/write-statement.js'
import type { Id } from '../filters/list-options.js'
import { toKey } from '../model/codec.js'
import { toKeyName } from '../model/generated-names.js'
import type { Where } from '../model/record-types.js'
import type { Relation, Table, Instance } from '../model/table.js'
import type { CallerWriter } from '../policy/caller-writer.js'
import { FoundKeys } from '../policy/found-keys.js'
import { readerOf } from '../policy/row-lookup.js'
import { namedError } from '../policy/tree-writer.js'
import { checkVersion } from '../statements/change-row.js'
import { idOf, keyOf } from '../model/record-key.js'
import { withoutShard, withShard } from '../statements/shard.js'
import type { Source } from '../statements/source.js'
import { forbidden } from '../rights/caller.js'
import { withSums } from '../statements/additions.js'
import { noSuchKey, toClientError } from '../statements/client-errors.js'
import { withoutKeyParts } from '../statements/write-options.js'
import { copyOf, isSameValue } from '../statements/hooks.js'
import { checkForeignKeys } from '../statements/write-row.js'
import {
  isNullish,
  toKeyText,
  toTypedKey,
  type LinkSet,
  type WriteTree,
} from '../statements/write-tree.js'

/** What the check of a row depends on. */
export interface CheckContext {
  /** Accept only a row at one of these versions. */
  readonly expected?: readonly number[] | undefined
  /** Whether the row with a key, as text, would be changed before. Its stored unique values do not count then. */
  readonly isChanged?: ((key: string) => MaybePromise<boolean>) | undefined
  /** What earlier checks of the caller's rows have found. Lookups of equal keys are left out. */
  readonly earlier?: EarlierChecks | undefined
}

/** What checks of many rows of one caller have found. */
export class EarlierChecks {
  /** Keys of rows that exist. */
  readonly stored = new FoundKeys()
  /** Keys of rows that the caller can see. */
  readonly visible = new FoundKeys()
}

/**
 * @param id undefined for a new row
 * @returns the row as it would be stored, without the changes of hooks; null if no row has the key, or the caller cannot see it
 * @throws {HttpError} as `CallerWriter.create` and `update`
 */
export async function checkWrite(
  writer: CallerWriter,
  id: Id | undefined,
  tree: WriteTree,
  { expected, isChanged = () => false, earlier = new EarlierChecks() }: CheckContext = {},
): Promise<Instance | null> {
  const { table } = tree
  await writer.checkFields(tree)
  return writer.inShard(table, tree.values, async () => {
    await writer.checkNested(tree, id === undefined ? 'create' : 'update')
    const before = id === undefined ? undefined : await writer.find(table, id)
    if (before === null) return null
    if (before !== undefined) checkVersion(table, before, expected)
    await writer.keys.check(tree, before, earlier.visible)
    try {
      const row = await checkRow(writer.source, tree, { before, isChanged, stored: earlier.stored })
      if (table.hooks.beforeWrite.length === 0) await checkVisible(writer, tree, row)
      return row
    } catch (error) {
      throw namedError(error, tree, writer.view.caller)
    }
  })
}

/**
 * Checks that the caller could see the row. Nothing is checked if that depends on the key of a new row or on links that are
 * written with the row.
 *
 * @throws {HttpError} 403 `FORBIDDEN`
 */
async function checkVisible(
  { source, view }: CallerWriter,
  { table, links }: WriteTree,
  row: Instance,
): Promise<void> {
  const slots = { values: [] as unknown[], key: '' }
  const condition = view.isBound(table) ? view.rows(table, slots) : undefined
  if (condition === undefined) return
  const leaves = leavesOf(condition)
  const { key: tableKey } = table
  const columns = new Set(
    [tableKey, ...leaves.flatMap(columnsToMatch)].flatMap((column) => storedColumnsOf(column)),
  )
  const needsKey = leaves.some((leaf) => columnsOfLeaf(leaf).includes(tableKey))
  const needsLinks = leaves.some(
    (leaf) => leaf.kind === 'related' && leaf.relation.kind === 'manyToMany',
  )
  if ((needsKey && isNullish(keyOf(tableKey, row))) || (needsLinks && links.length > 0)) return
  const { byProperty } = source.context.codecOf(table)
  const { key, values } = slots
  const filter = { condition, key, count: values.length, withDeleted: false }
  const plan = source.context.plansOf(table).matches(filter, [...columns])
  for (const { property } of columns) {
    const value = row[property]
    values.push(isNullish(value) ? null : byProperty.get(property)?.encode(value))
  }
  const found = await source.runner().run(plan.statement, arrangeValues(plan, values), 'first')
  if (found === undefined) throw forbidden()
}

function columnsToMatch(leaf: ReturnType<typeof leavesOf<Relation>>[number]): readonly Column[] {
  if (leaf.kind !== 'related') return columnsOfLeaf(leaf)
  const { local, shards } = leaf.relation
  return shards === undefined ? [local] : [local, shards.local]
}

/** What a check knows about the row and about rows that would be written before it. */
interface RowCheck {
  /** The stored row. Undefined for a new one. */
  readonly before: Instance | undefined
  /** Whether the stored unique values of a row do not count, because it would be changed before. */
  readonly isChanged: (key: string) => MaybePromise<boolean>
  /** Keys that were found before. */
  readonly stored: FoundKeys
}

/**
 * @returns the row as it would be stored; a new one without a key that the database makes
 * @throws {HttpError} 400 `VALIDATION`, 409 `CONFLICT`
 */
async function checkRow(
  source: Source,
  { table, values, links }: WriteTree,
  check: RowCheck,
): Promise<Instance> {
  const row = await nextRow(source, table, values, check.before)
  if (table.hooks.beforeWrite.length > 0) return row
  await checkReferences(source, table, row, check)
  for (const link of links) await checkLinks(source, link, check.stored)
  for (const index of [...namedKeyOf(table, check), ...uniqueIndexesOf(table)])
    await checkUnique(source, table, index, row, check)
  return row
}

/** The key of several columns of a new row. Other keys are made for it. */
function namedKeyOf({ name, key }: Table, { before }: RowCheck): TableIndex[] {
  if (key.parts === undefined || before !== undefined) return []
  return [{ name: toKeyName(name), columns: key.parts, unique: true }]
}

async function nextRow(
  { context }: Source,
  table: Table,
  values: Instance,
  before: Instance | undefined,
): Promise<Instance> {
  const { create, draft = create, update, row: checkComplete } = context.checksOf(table)
  const { convert } = context.codecOf(table)
  const hasHooks = table.hooks.beforeWrite.length > 0
  if (before === undefined) {
    const row = await (hasHooks ? draft : create)(withShard(table, values))
    convert(row)
    return row
  }
  const named = withoutKeyParts(table, before, withoutShard(table, values))
  const changes = await promise(() => update(withSums(table, before, named)))
  convert(changes)
  const row = Object.assign(copyOf(before), changes)
  if (!hasHooks) await checkComplete?.(row)
  return row
}

/** @throws {HttpError} 409 if a foreign key names no row. A key that does not change is not checked. */
async function checkReferences(
  source: Source,
  table: Table,
  row: Instance,
  { before, stored }: RowCheck,
): Promise<void> {
  const { context } = source
  checkForeignKeys(table, context.codecOf(table), row)
  for (const relation of table.relations.values()) {
    const { local } = relation
    const key = keyOf(local, row)
    if (relation.kind !== 'belongsTo' || isNullish(key)) continue
    if (before !== undefined && toKeyText(keyOf(local, before)) === toKeyText(key)) continue
    const { target } = relation
    if (stored.without(target, [key as Id]).length === 0) continue
    const found = await readerOf(target, source).find(key as Id)
    if (found === null) throw noSuchKey(relation, key)
    stored.add(target, [key])
  }
}

/** @throws {HttpError} 409 if a key to link names no row */
async function checkLinks(source: Source, links: LinkSet, stored: FoundKeys): Promise<void> {
  const { relation } = links
  const { target } = relation
  const codec = source.context.codecOf(target)
  const ids = stored.without(target, links.ids)
  const keys = ids.filter((id) => toKey(codec, id) !== undefined)
  const where = { [target.key.property]: { in: keys.map((id) => toTypedKey(target, id)) } }
  const rows = keys.length === 0 ? [] : await readerOf(target, source).list({ where })
  const found = rows.map((row) => idOf(target, row))
  stored.add(target, found)
  const foundTexts = new Set(found.map(toKeyText))
  const missing = ids.find((id) => !foundTexts.has(toKeyText(toTypedKey(target, id))))
  if (missing !== undefined) throw links.toClientError(noSuchKey(relation, missing))
}

/** @throws {HttpError} 409 if another row has the values of a unique index */
async function checkUnique(
  source: Source,
  table: Table,
  index: TableIndex,
  row: Instance,
  { before, isChanged }: RowCheck,
): Promise<void> {
  const names = index.columns.map(({ property }) => property)
  // Rows without a value are not duplicates.
  if (names.some((name) => isNullish(row[name]))) return
  if (before !== undefined && names.every((name) => isSameValue(row[name], before[name]))) return
  const where = Object.fromEntries(names.map((name) => [name, row[name]])) as Where<Instance>
  const [other] = await readerOf(table, source).list({ where, limit: 1 })
  if (other === undefined) return
  const otherKey = toKeyText(idOf(table, other))
  const isItself = before !== undefined && toKeyText(idOf(table, before)) === otherKey
  if (isItself || (await isChanged(otherKey))) return
  const { name: constraint, columns } = index
  const details = { constraint, columns: columns.map(({ name }) => name) }
  throw toClientError(
    new EngineError('unique', 'another row has the values', undefined, details),
    table,
    'write',
  )
}
