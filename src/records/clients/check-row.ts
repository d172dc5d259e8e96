/**
 * Checks a row that a client would write, by reads alone: it takes no lock and no key of a sequence. Hooks, constraints
 * of the database and unique indexes over some of the rows are checked by the write only. Source: decisions, Admin page
 * and CSV.
 */
import { promise } from '../../core/maybe-promise.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import type { TableIndex } from '../../engines/contract/table.js'
import { uniqueIndexesOf } from '../../sql/table.js'
import type { Id } from '../filters/list-options.js'
import { toKey } from '../model/codec.js'
import type { Where } from '../model/record-types.js'
import type { Table } from '../model/table.js'
import type { WriteTarget } from '../policy/row-lookup.js'
import { withSums } from '../statements/additions.js'
import { noSuchKey, toClientError } from '../statements/client-errors.js'
import { copyOf, isSameValue } from '../statements/hooks.js'
import { refuseInvalidKeys } from '../statements/write-row.js'
import {
  isNullish,
  toKeyText,
  toTypedKey,
  type Instance,
  type LinkSet,
  type WriteTree,
} from '../statements/write-tree.js'

/** What a check knows about the row and about rows that would be written before it. */
export interface RowCheck {
  /** The stored row. Undefined for a new one. */
  readonly before: Instance | undefined
  /** The keys of rows whose stored unique values do not count, because they would be changed before. */
  readonly changedKeys: ReadonlySet<string>
}

/**
 * @returns the row as it would be stored; a new one without a key that the database makes
 * @throws {HttpError} 400 `VALIDATION`, 409 `CONFLICT`
 */
export async function checkRow(
  target: WriteTarget,
  { table, values, links }: WriteTree,
  check: RowCheck,
): Promise<Instance> {
  const row = await nextRow(target, table, values, check.before)
  await demandReferences(target, table, row, check.before)
  for (const link of links) await demandLinks(target, link)
  for (const index of uniqueIndexesOf(table)) await demandUnique(target, table, index, row, check)
  return row
}

async function nextRow(
  { source: { context } }: WriteTarget,
  table: Table,
  values: Instance,
  before: Instance | undefined,
): Promise<Instance> {
  const { create, update, row: checkComplete } = context.checksOf(table)
  const { convert } = context.codecOf(table)
  if (before === undefined) {
    const row = await create(values)
    convert(row)
    return row
  }
  const changes = await promise(() => update(withSums(table, before, values)))
  convert(changes)
  const row = Object.assign(copyOf(before), changes)
  await checkComplete?.(row)
  return row
}

/** @throws {HttpError} 409 if a foreign key names no row. A key that does not change is not checked. */
async function demandReferences(
  target: WriteTarget,
  table: Table,
  row: Instance,
  before: Instance | undefined,
): Promise<void> {
  const { context } = target.source
  refuseInvalidKeys(table, context.codecOf(table), row)
  for (const relation of table.relations.values()) {
    const { property } = relation.local
    const key = row[property]
    if (relation.kind !== 'belongsTo' || isNullish(key)) continue
    if (before !== undefined && toKeyText(before[property]) === toKeyText(key)) continue
    const found = await target.records(relation.target).find(key as Id)
    if (found === null) throw noSuchKey(relation)
  }
}

/** @throws {HttpError} 409 if a key to link names no row */
async function demandLinks(writes: WriteTarget, links: LinkSet): Promise<void> {
  const { relation, ids } = links
  const { target } = relation
  const codec = writes.source.context.codecOf(target)
  const keys = ids.filter((id) => toKey(codec, id) !== undefined)
  const where = { [target.key.property]: { in: keys.map((id) => toTypedKey(target, id)) } }
  const rows = keys.length === 0 ? [] : await writes.records(target).list({ where })
  if (rows.length < new Set(ids.map(toKeyText)).size) throw links.toClientError(noSuchKey(relation))
}

/** @throws {HttpError} 409 if another row has the values of a unique index */
async function demandUnique(
  target: WriteTarget,
  table: Table,
  index: TableIndex,
  row: Instance,
  { before, changedKeys }: RowCheck,
): Promise<void> {
  const names = index.columns.map(({ property }) => property)
  // Rows without a value are not duplicates.
  if (names.some((name) => isNullish(row[name]))) return
  if (before !== undefined && names.every((name) => isSameValue(row[name], before[name]))) return
  const where = Object.fromEntries(names.map((name) => [name, row[name]])) as Where<Instance>
  const [other] = await target.records(table).list({ where, limit: 1 })
  if (other === undefined) return
  const otherKey = toKeyText(other[table.key.property])
  const isItself = before !== undefined && toKeyText(before[table.key.property]) === otherKey
  if (isItself || changedKeys.has(otherKey)) return
  const { name: constraint, columns } = index
  const details = { constraint, columns: columns.map(({ name }) => name) }
  throw toClientError(
    new EngineError('unique', 'another row has the values', undefined, details),
    table,
    'write',
  )
}
