/**
 * Finds the violated constraint of an error: the referring record, the broken relation, or the name of a unique index.
 * SQLite only reports the columns of an index.
 */

import { type MaybePromise, after, attempt, promise } from '../../core/maybe-promise.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import { referencesTo } from '../model/relations.js'
import type { Column } from '../../engines/contract/table.js'
import { missingKey, type WrittenRows } from './marked-references.js'
import { isInTransaction, probing } from './transaction-runners.js'
import { arrangeValues } from '../../sql/write-statement.js'
import { keyInValues, type TableCodec } from '../model/codec.js'
import { keyOf } from '../model/record-key.js'
import { keyValues, inShardOf } from './shard.js'
import type { Source } from './source.js'
import type { Table, Relation } from '../model/table.js'
import { findByConstraint, toConstraintName } from '../model/generated-names.js'
import { declaredConstraintOf, relationOf, uniqueIndexOf, type Referrer } from './client-errors.js'
import { toKeyText } from './write-tree.js'
import { frameworkQuery } from '../../engines/contract/statement.js'

/**
 * @param key the row's key in the driver's form
 * @returns `undefined` for other errors, and for a constraint that another program has named
 */
export function findReferrer(
  table: Table,
  source: Source,
  error: unknown,
  key: unknown,
): MaybePromise<Referrer | undefined> {
  if (!(error instanceof EngineError) || error.kind !== 'reference') return undefined
  const { constraint } = error
  if (constraint !== undefined) {
    // Any table: the database may also delete other rows along, which are still referred to.
    return findByConstraint(
      listReferrers(source),
      ({ table: { name }, column }) => toConstraintName(name, column.name),
      constraint,
    )
  }
  return attempt(
    () =>
      listReferrers(source, table).reduce<MaybePromise<Referrer | undefined>>(
        (found, referrer) =>
          after(found, (earlier): MaybePromise<Referrer | undefined> => {
            return earlier ?? referrerOf(referrer, source, key)
          }),
        undefined,
      ),
    () => undefined,
  )
}

function listReferrers({ context }: Source, target?: Table): Referrer[] {
  return referencesTo(context.tables, target)
    .filter(({ onDelete }) => onDelete === 'restrict')
    .map(({ table, local }) => ({ table, column: local }))
}

function referrerOf(
  referrer: Referrer,
  source: Source,
  key: unknown,
): MaybePromise<Referrer | undefined> {
  const plan = source.context.plansOf(referrer.table).refers(referrer.column)
  const { table, column } = referrer
  const values = column === table.shard ? [key] : keyValues(table, source.context, key)
  const all = arrangeValues(plan, values)
  return after(probing(source.runner()).run(plan.statement, all, 'first'), (row) =>
    row === undefined ? undefined : referrer,
  )
}

/** @returns `undefined` for other errors, and if the database names the constraint itself */
export function findBrokenRelation(
  table: Table,
  source: Source,
  error: unknown,
  record: Readonly<Record<string, unknown>>,
): MaybePromise<Relation | undefined> {
  if (!(error instanceof EngineError) || error.kind !== 'reference') return undefined
  if (error.constraint !== undefined) return undefined
  let found = undefined as MaybePromise<Relation | undefined>
  for (const relation of table.relations.values()) {
    if (relation.kind !== 'belongsTo') continue
    const value = keyOf(relation.local, record)
    if (value === undefined || value === null) continue
    const probe = (earlier: Relation | undefined): MaybePromise<Relation | undefined> =>
      earlier ?? inShardOf(table, record, () => missing(relation, value, source))
    found = after<Relation | undefined, Relation | undefined>(found, probe)
  }
  return attempt(
    () => found,
    () => undefined,
  )
}

/** A row of a statement with many rows whose foreign key refers to no row. */
export interface BrokenReference {
  readonly relation: Relation
  readonly key: unknown
  readonly row: readonly unknown[]
}

/** @returns `undefined` for other errors, and for a constraint that another program has named */
export async function findBrokenReference(
  table: Table,
  source: Source,
  error: unknown,
  written: readonly WrittenRows[],
): Promise<BrokenReference | undefined> {
  if (!(error instanceof EngineError) || error.kind !== 'reference') return undefined
  const codec = source.context.codecOf(table)
  for (const relation of brokenRelations(table, error)) {
    const stated = rowOfDetail(written, error)
    if (stated !== undefined) {
      const { columns, row } = stated
      return { relation, row, key: keyInValues(relation.local, columns, row, codec) }
    }
    const key = await firstMissing(relation, source, written)
    const found = key === undefined ? undefined : rowWith(written, relation.local, key, codec)
    if (found !== undefined) return { relation, key, row: found }
  }
  return undefined
}

/** The relations that may be broken: all of them, unless the database names the constraint. */
function brokenRelations(table: Table, error: EngineError): readonly Relation[] {
  if (error.constraint !== undefined) {
    const relation = relationOf(table, error)
    return relation === undefined ? [] : [relation]
  }
  return [...table.relations.values()].filter(({ kind }) => kind === 'belongsTo')
}

/** The row whose values are in the database's error. */
function rowOfDetail(
  written: readonly WrittenRows[],
  { columns: names, missingKey: text }: EngineError,
): { readonly columns: readonly Column[]; readonly row: readonly unknown[] } | undefined {
  if (names === undefined || text === undefined) return undefined
  for (const { columns, rows } of written) {
    const positions = names.map((name) => columns.findIndex((column) => column.name === name))
    const row = rows.find(
      (values) => positions.map((position) => toKeyText(values[position])).join(', ') === text,
    )
    if (row !== undefined) return { columns, row }
  }
  return undefined
}

/** The first key whose row does not exist and is not among the written ones. */
async function firstMissing(
  relation: Relation,
  source: Source,
  written: readonly WrittenRows[],
): Promise<unknown> {
  const { table, target, local } = relation
  const codec = source.context.codecOf(table)
  const own = new Set(target === table ? keysIn(written, table.key, codec).map(toKeyText) : [])
  const keys = keysIn(written, local, codec).filter((key) => !own.has(toKeyText(key)))
  if (keys.length === 0) return undefined
  try {
    return (await missingKey(relation, source, keys, probing(source.runner())))?.key
  } catch {
    return undefined
  }
}

function keysIn(written: readonly WrittenRows[], column: Column, codec: TableCodec): unknown[] {
  return written
    .flatMap(({ columns, rows }) => rows.map((row) => keyInValues(column, columns, row, codec)))
    .filter((key) => key !== undefined && key !== null)
}

function rowWith(
  written: readonly WrittenRows[],
  column: Column,
  key: unknown,
  codec: TableCodec,
): readonly unknown[] | undefined {
  const text = toKeyText(key)
  for (const { columns, rows } of written) {
    const found = rows.find((row) => toKeyText(keyInValues(column, columns, row, codec)) === text)
    if (found !== undefined) return found
  }
  return undefined
}

function missing(
  relation: Relation,
  value: unknown,
  source: Source,
): MaybePromise<Relation | undefined> {
  const { context } = source
  const key = context.codecOf(relation.target).key.encode(value)
  const plan = context.plansOf(relation.target).find
  const values = arrangeValues(plan, keyValues(relation.target, context, key))
  return after(probing(source.runner()).run(plan.statement, values, 'first'), (row) =>
    row === undefined ? relation : undefined,
  )
}

/** @returns the error with the name that the record or the application knows, if the database reports another one */
export function nameConstraint(
  table: Table,
  source: Source,
  error: unknown,
): MaybePromise<unknown> {
  if (!(error instanceof EngineError)) return error
  const { kind, columns, constraint, message, cause, collision } = error
  if (kind !== 'unique' && kind !== 'exclusion') return error
  const find = constraint === undefined ? findUniqueIndex : findOwnerOfPartition
  const named = (name: string | undefined): unknown =>
    name === undefined
      ? error
      : new EngineError(kind, message, cause, {
          ...(columns !== undefined && { columns }),
          ...(collision !== undefined && { collision }),
          constraint: name,
        })
  return attempt<unknown>(
    () => after(find(table, source, error), named),
    () => error,
  )
}

/** The name of the unique index, where the database reports its columns. */
function findUniqueIndex(
  table: Table,
  source: Source,
  { columns }: EngineError,
): MaybePromise<string | undefined> {
  const { uniqueIndexes } = source.context.dialect.tables
  if (table.constraints.size === 0 || uniqueIndexes === undefined || columns === undefined)
    return undefined
  const query = frameworkQuery(uniqueIndexes(table.name), { isFresh: true })
  return after(probing(source.runner()).run(query, [], 'rows'), (rows) => {
    const found = rows.find(([, names]) => names === columns.join())
    return found === undefined ? undefined : String(found[0])
  })
}

/** The names of the tables' indexes, by the names of their parts on partitions. */
const ownersOfParts = new WeakMap<Table, Map<string, string | undefined>>()

/**
 * The name of the table's index, where the database reports the name of its part on a partition. Unknown to a transaction
 * that would have to wait for a connection, because it holds one itself. Later errors know the name.
 */
function findOwnerOfPartition(
  table: Table,
  source: Source,
  error: EngineError,
): MaybePromise<string | undefined> {
  const { context } = source
  const { partitionIndexes } = context.dialect.tables
  const { constraint = '' } = error
  const isKnown = declaredConstraintOf(table, error) ?? uniqueIndexOf(table, constraint)
  if (partitionIndexes === undefined || isKnown !== undefined) return undefined
  const owners = ownersOfParts.get(table) ?? new Map<string, string | undefined>()
  ownersOfParts.set(table, owners)
  if (owners.has(constraint)) return owners.get(constraint)
  const query = frameworkQuery(partitionIndexes(table.name), { isFresh: true })
  // Not in the failed transaction, which can no longer read.
  const hasToWait = isInTransaction(source.runner()) && !hasFreeConnection(source)
  const found = promise(async () => {
    const rows = await context.engine.run(query, [], 'rows')
    owners.set(constraint, undefined)
    for (const [part, owner] of rows) owners.set(String(part), String(owner))
    return owners.get(constraint)
  })
  if (!hasToWait) return found
  // It is asked again after the next error.
  found.catch(() => undefined)
  return undefined
}

function hasFreeConnection({ context }: Source): boolean {
  const pool = context.engine.status.pool()
  if (pool === undefined || pool.waiting > 0) return false
  return pool.idle > 0 || pool.open < pool.maxConnections
}
