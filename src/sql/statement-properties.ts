/**
 * Derives the properties of a statement from its tree: its kind and table, whether it may wait for locks, how many rows it
 * examines at most, and which statements an engine may batch it with.
 */
import type { Dialect } from '../engines/contract/dialect.js'
import type { RowTest, Statement, StatementKind, Together } from '../engines/contract/statement.js'
import { storedColumnsOf, type Column, type TablePartitions } from '../engines/contract/table.js'
import { rowBoundOf } from './row-bound.js'
import type { SqlTable } from './table.js'
import type { Condition } from './condition.js'
import type { Change, Query, Rows, Selection } from './tree.js'

export type StatementProperties = Pick<
  Statement,
  'kind' | 'mayWait' | 'together' | 'bound' | 'by'
> & {
  /** The table that is read or changed. */
  readonly table: string
}

/** @param positionOf the position of a slot's value among the values of the statement */
export function propertiesOf(
  tree: Query | Change,
  dialect: Dialect,
  positionOf: (slot: number) => number,
): StatementProperties {
  if ('change' in tree) return propertiesOfChange(tree)
  const mayWait = tree.query === 'rows' && tree.locks === true && dialect.statements.lock !== ''
  const { rows: bound, indexes } = rowBoundOf(tree, dialect, positionOf)
  const together = togetherOf(tree)
  return { table: tableOf(tree), kind: 'select', mayWait, together, bound, by: indexes }
}

/**
 * The values that a row must have to affect the result, from the equalities of the filter. If a row matches neither before nor
 * after a write, the write does not change the result.
 *
 * @param isNamedOnce whether only one part of the statement uses the table
 */
export function rowTestOf(
  tree: Query | Change,
  positionOf: (slot: number) => number,
  isNamedOnce: (table: string) => boolean,
): RowTest | undefined {
  if ('change' in tree || tree.query === 'match') return undefined
  const table = tableOf(tree)
  if (tree.query === 'relatedRows' && table !== tree.relation.target.name) return undefined
  const where = tree.rows?.where
  if (where === undefined || !isNamedOnce(table)) return undefined
  const columns = equalitiesIn(where).map(({ column, slot }) => ({
    name: column.name,
    position: positionOf(slot),
  }))
  return columns.length === 0 ? undefined : { table, columns }
}

type Equality = Extract<Condition, { kind: 'compare' }>

/** Equality tests that every row must pass. Only types whose values are equal exactly if their texts are equal. */
function equalitiesIn(condition: Condition): readonly Equality[] {
  if (condition.kind === 'all') return condition.parts.flatMap(equalitiesIn)
  const isEqual =
    condition.kind === 'compare' &&
    condition.operator === 'eq' &&
    condition.path === undefined &&
    condition.isText !== true &&
    condition.column.parts === undefined &&
    // A type of its own may find texts equal that differ: citext.
    condition.column.type === undefined &&
    ['integer', 'text'].includes(condition.column.storage)
  return isEqual ? [condition] : []
}

/** The table whose rows are requested. A limit for each list of related rows also reads the rows that they are related to. */
function tableOf(query: Query): string {
  if (query.query === 'match') return query.table.name
  if (query.query !== 'relatedRows') return query.rows.table.name
  const { relation, rows } = query
  return rows?.limit === undefined ? relation.target.name : relation.table.name
}

/** How an engine may batch the query. Most queries only share their result with identical ones. */
function togetherOf(query: Query): Together | undefined {
  switch (query.query) {
    case 'rows': {
      const { rows, derived = [], selection = [], locks, total } = query
      if (locks === true) return undefined
      const isMore = selection.length + derived.length > 0 || total !== undefined
      return isMore ? 'same' : togetherOfRows(rows)
    }
    case 'object': {
      const { rows, selection } = query
      // Lists may read many rows, and statements of several shards cannot be batched.
      if (hasLists(selection) || rows.table.shard !== undefined) return 'same'
      return rows.where && keyTestIn(rows.where, rows.table)?.kind === 'compare' ? 'calls' : 'same'
    }
    case 'relatedRows': {
      const { relation, shard } = query
      return relation.kind !== 'belongsTo' || shard !== undefined ? undefined : 'calls'
    }
    case 'count':
      return query.sampleSize === undefined ? 'same' : undefined
    case 'match':
      return undefined
    default:
      return 'same'
  }
}

/**
 * The partitions of a table that is read by one key.
 *
 * @returns `keys` for a table that is read by a list of keys, so that calls of it are not combined: a list that is known only
 * for each call shows no partition. `undefined` without partitions, or for a page
 */
export function partitionsReadByKey(tree: Query | Change): TablePartitions | 'keys' | undefined {
  if ('change' in tree) return undefined
  if (tree.query === 'relatedRows')
    return tree.relation.target.partitions === undefined ? undefined : 'keys'
  if (tree.query !== 'rows' && tree.query !== 'object') return undefined
  const { table, where } = tree.rows
  const test = where && keyTestIn(where, table)
  if (table.partitions === undefined || test === undefined) return undefined
  return test.kind === 'list' ? 'keys' : table.partitions
}

/**
 * Rows by key, and pages of an unfiltered table in the order of its key, can be batched. They examine no more rows than they
 * return, because the index on the key always exists.
 */
function togetherOfRows(rows: Rows): Together | undefined {
  const { table, where, order, limit, offset, distinct } = rows
  // A batched statement would be sent to every shard.
  if (where !== undefined && keyTestIn(where, table) !== undefined)
    return table.shard === undefined ? 'calls' : undefined
  const [first, ...more] = order?.terms ?? []
  const isPage =
    typeof limit === 'number' &&
    offset === undefined &&
    distinct === undefined &&
    first?.column === table.key &&
    more.length === 0 &&
    order?.rank === undefined
  return isPage && readsEveryRow(rows) ? 'page' : 'same'
}

/** Whether no examined row is skipped. */
function readsEveryRow({ table, where, withDeleted = false }: Rows): boolean {
  return (withDeleted || table.deletedAt === undefined) && isKeyRange(where, table)
}

/** Whether the condition matches all rows, or all rows after or before a key. */
function isKeyRange(condition: Condition | undefined, table: SqlTable): boolean {
  if (condition === undefined) return true
  if (condition.kind === 'all') return condition.parts.every((part) => isKeyRange(part, table))
  return (
    condition.kind === 'compare' &&
    condition.path === undefined &&
    condition.column === table.key &&
    (condition.operator === 'gt' || condition.operator === 'lt')
  )
}

function hasLists(selection: Selection): boolean {
  return selection.some(
    (entry) =>
      entry.kind === 'relation' &&
      (entry.relation.kind !== 'belongsTo' || hasLists(entry.selection)),
  )
}

type KeyTest = Extract<Condition, { kind: 'compare' | 'list' }>

/** A test that every row must pass, on a key or another unique column. */
function keyTestIn(condition: Condition, table: SqlTable): KeyTest | undefined {
  switch (condition.kind) {
    case 'all': {
      // A key is unique within its shard.
      const { shard } = table
      const { parts } = condition
      if (shard !== undefined && !parts.some((part) => isEqual(part, shard))) return undefined
      const open = shard === undefined ? table : { ...table, shard: undefined }
      for (const part of parts) {
        const found = keyTestIn(part, open)
        if (found !== undefined) return found
      }
      return undefined
    }
    case 'compare':
      return table.shard === undefined && isUniqueTest(condition, table) ? condition : undefined
    case 'list':
      return table.shard === undefined &&
        !condition.orNull &&
        condition.isPacked &&
        isUnique(condition.column, table)
        ? condition
        : undefined
    default:
      return undefined
  }
}

function isUniqueTest(
  { operator, path, column }: Extract<Condition, { kind: 'compare' }>,
  table: SqlTable,
): boolean {
  return operator === 'eq' && path === undefined && isUnique(column, table)
}

function isEqual(condition: Condition, column: Column): boolean {
  return (
    condition.kind === 'compare' &&
    condition.operator === 'eq' &&
    condition.path === undefined &&
    condition.column === column
  )
}

function isUnique(column: Column, { key, indexes }: SqlTable): boolean {
  if (column === key) return true
  if (column.parts !== undefined) return false
  return indexes.some(
    ({ unique, columns }) => unique && columns.length === 1 && columns[0] === column,
  )
}

function propertiesOfChange(change: Change): StatementProperties {
  const properties = (kind: StatementKind, table: string, bound?: number): StatementProperties => ({
    table,
    kind,
    mayWait: true,
    bound,
  })
  switch (change.change) {
    case 'insert': {
      const { table, columns, onConflict } = change
      if (onConflict !== undefined) return properties('upsert', table.name, 1)
      return { ...properties('insert', table.name), mayWait: mayInsertWait(table, columns) }
    }
    case 'update':
      return properties(
        'update',
        change.table.name,
        keySlotOf(change) === undefined ? undefined : 1,
      )
    case 'updateEach':
      return properties('update', change.table.name)
    case 'delete': {
      const isOne = change.where && keyTestIn(change.where, change.table)?.kind === 'compare'
      return properties('delete', change.table.name, isOne === true ? 1 : undefined)
    }
    case 'link':
      return properties('insert', change.join.name, 1)
    case 'unlink':
      return properties('delete', change.join.name, 1)
  }
}

/**
 * An insert waits for another transaction only if a value must be unique or refers to a row, and the other transaction has
 * written the same value or deleted that row.
 */
function mayInsertWait({ key, indexes, relations }: SqlTable, columns: readonly Column[]): boolean {
  const isKeyed = key.parts !== undefined || (columns.includes(key) && key.generated !== 'uuid')
  return (
    isKeyed ||
    indexes.some(({ unique }) => unique) ||
    [...relations.values()].some(({ kind }) => kind === 'belongsTo')
  )
}

/** The slot of the key if the update changes one row. */
export function keySlotOf({
  table,
  where,
}: Extract<Change, { change: 'update' }>): number | undefined {
  const test = where && keyTestIn(where, table)
  return test?.kind === 'compare' && test.column === table.key ? test.slot : undefined
}

/** Whether changing the columns never waits for another row: none is a key, unique, or a reference. */
export function areIndependent(
  { key, indexes, relations }: SqlTable,
  columns: readonly Column[],
): boolean {
  const isIndexed = (column: Column): boolean =>
    indexes.some(({ unique, columns: indexed }) => unique && indexed.includes(column))
  const refers = (column: Column): boolean =>
    [...relations.values()].some(
      ({ kind, local }) => kind === 'belongsTo' && storedColumnsOf(local).includes(column),
    )
  const isOfKey = (column: Column): boolean => storedColumnsOf(key).includes(column)
  return !columns.some((column) => isOfKey(column) || isIndexed(column) || refers(column))
}
