/**
 * Foreign keys to rows that were soft-deleted. The database accepts them, because the rows are still there. For a
 * record they are references to missing rows, as after a real deletion.
 */
import { groupBy } from '../../core/collections.js'
import { after, type MaybePromise } from '../../core/maybe-promise.js'
import type { Runner } from '../../engines/contract/engine.js'
import type { Column } from '../../engines/contract/table.js'
import type { Relation, Table } from '../model/table.js'
import { arrangeValues } from '../../sql/write-statement.js'
import { keyInValues } from '../model/codec.js'
import { inShard, keyValues } from './shard.js'
import { withReadKeys } from './row-keys.js'
import type { Source } from './source.js'
import { noSuchKey } from './client-errors.js'
import { toKeyText } from './write-tree.js'

const none: readonly Relation[] = Object.freeze([])

const cachedRelations = new WeakMap<Table, readonly Relation[]>()

/** The relations of a table whose keys name rows of records with `softDelete`. */
export function referencesToMarked(table: Table): readonly Relation[] {
  let relations = cachedRelations.get(table)
  if (relations === undefined) {
    const found = [...table.relations.values()].filter(
      ({ kind, target }) => kind === 'belongsTo' && target.deletedAt !== undefined,
    )
    relations = found.length === 0 ? none : found
    cachedRelations.set(table, relations)
  }
  return relations
}

/**
 * True if the changes name only some columns of such a reference, so that the row must be read to know the key.
 *
 * @param values by property
 */
export function changesPartOfReference(table: Table, values: object): boolean {
  return referencesToMarked(table).some(({ local: { parts } }) => {
    const named = parts?.filter(({ property }) => property in values) ?? []
    return named.length > 0 && named.length < (parts?.length ?? 0)
  })
}

/**
 * @param rows values of the columns, in the driver's form; they may refer to each other by their keys
 * @param isUnchanged called for a single row with a missing key: whether the stored row has that key already
 * @throws {HttpError} 409 `CONFLICT`: the row of a key is missing or marked as deleted
 */
export function checkUndeleted(
  table: Table,
  source: Source,
  { columns, rows }: WrittenRows,
  isUnchanged?: (column: Column, key: unknown) => MaybePromise<boolean>,
): MaybePromise<void> {
  const relations = referencesToMarked(table)
  if (relations.length === 0) return undefined
  const byShard = groupByShard(table, source, { columns, rows })
  let done: MaybePromise<void> = undefined
  for (const relation of relations)
    for (const [shard, some] of byShard)
      done = after(done, () =>
        inShard(table, shard, () =>
          checkReference(relation, source, { columns, rows: some }, isUnchanged),
        ),
      )
  return done
}

function checkReference(
  relation: Relation,
  source: Source,
  { columns, rows }: WrittenRows,
  isUnchanged?: (column: Column, key: unknown) => MaybePromise<boolean>,
): MaybePromise<void> {
  const { table } = relation
  const codec = source.context.codecOf(table)
  const keysIn = (column: Column): unknown[] =>
    rows
      .map((row) => keyInValues(column, columns, row, codec))
      .filter((key) => key !== undefined && key !== null)
  const ownKeys = new Set(relation.target === table ? keysIn(table.key).map(toKeyText) : [])
  const keys = keysIn(relation.local).filter((key) => !ownKeys.has(toKeyText(key)))
  if (keys.length === 0) return undefined
  return after(missingKey(relation, source, keys), (missing) => {
    if (missing === undefined) return undefined
    const isSame = isUnchanged?.(relation.local, missing.key) ?? false
    return after(isSame, (same) => {
      if (!same) throw noSuchKey(relation, missing.key)
    })
  })
}

/** The rows by the shard that they name: rows refer only to rows in their own. Undefined: the shard of the call. */
function groupByShard(
  table: Table,
  source: Source,
  { columns, rows }: WrittenRows,
): ReadonlyMap<unknown, readonly (readonly unknown[])[]> {
  const { shard } = table
  const index = shard === undefined ? -1 : columns.indexOf(shard)
  if (shard === undefined || index === -1) return new Map([[undefined, rows]])
  const codec = source.context.codecOf(table).byProperty.get(shard.property)
  return groupBy(rows, (row) => codec?.decode(row[index]))
}

/** @throws {HttpError} as `checkUndeleted` */
export function checkUndeletedKeys(
  relation: Relation,
  source: Source,
  keys: readonly unknown[],
): MaybePromise<void> {
  if (keys.length === 0) return undefined
  return after(missingKey(relation, source, keys), (missing) => {
    if (missing !== undefined) throw noSuchKey(relation, missing.key)
  })
}

/** Values of rows by column, in the driver's form. */
export interface WrittenRows {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly unknown[])[]
}

/** The first key whose row is missing or marked as deleted. */
export function missingKey(
  relation: Relation,
  source: Source,
  keys: readonly unknown[],
  runner: Runner = source.runner(),
): MaybePromise<{ readonly key: unknown } | undefined> {
  const { target, shards } = relation
  const { context } = source
  // The shard of the target is only known if both records have the same shard.
  if (target.shard !== undefined && shards === undefined) return undefined
  const missing = new Map(keys.map((key) => [toKeyText(key), key]))
  const packed = context.dialect.lists.encode(target.key, [...missing.values()])
  const values = target.shard === undefined ? [packed] : keyValues(target, context, packed)
  const plan = context.plansOf(target).undeleted()
  const all = arrangeValues(plan, values)
  return after(runner.run(plan.statement, all, 'rows'), (rows) => {
    for (const [key] of withReadKeys(target, source, rows)) missing.delete(toKeyText(key))
    const [key] = missing.values()
    return missing.size === 0 ? undefined : { key }
  })
}
