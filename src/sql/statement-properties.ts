/**
 * Says what a statement is, from its tree: what it does, to which tables, whether it may wait for others, how many rows it looks
 * at at most, and with whom it may go together.
 */
import type { Dialect } from '../engines/contract/dialect.js'
import type { RowTest, Statement, StatementKind, Together } from '../engines/contract/statement.js'
import type { Column } from '../engines/contract/table.js'
import { rowBoundOf } from './row-bound.js'
import type { Condition } from './condition.js'
import type { SqlTable } from './table.js'
import type { Change, ObjectForm, Query, Rows } from './tree.js'

export type StatementProperties = Pick<
  Statement,
  'kind' | 'mayWait' | 'together' | 'bound' | 'by'
> & {
  /** The table that is asked for, or changed. */
  readonly table: string
}

/** @param positionOf where the value of a slot stands among those that a statement gets */
export function propertiesOf(
  tree: Query | Change,
  dialect: Dialect,
  positionOf: (slot: number) => number,
): StatementProperties {
  if ('change' in tree) return propertiesOfChange(tree)
  const mayWait = tree.query === 'rows' && tree.locks === true && dialect.lock !== ''
  const { rows: bound, indexes } = rowBoundOf(tree, dialect, positionOf)
  const together = togetherOf(tree)
  return { table: tableOf(tree), kind: 'select', mayWait, together, bound, by: indexes }
}

/**
 * What rows of the table that is asked for must hold to matter to the answer, as far as it says so by equality. Rows that do not,
 * before and after they are written, change nothing of it.
 *
 * @param isNamedOnce no other part of the statement names the table
 */
export function rowTestOf(
  tree: Query | Change,
  positionOf: (slot: number) => number,
  isNamedOnce: (table: string) => boolean,
): RowTest | undefined {
  if ('change' in tree || !('rows' in tree) || tree.query === 'relatedRows') return undefined
  const { table, where } = tree.rows
  if (where === undefined || !isNamedOnce(table.name)) return undefined
  const columns = equalitiesIn(where).map(({ column, slot }) => ({
    name: column.name,
    place: positionOf(slot),
  }))
  return columns.length === 0 ? undefined : { table: table.name, columns }
}

type Equality = Extract<Condition, { kind: 'compare' }>

/** Those that every row must pass, of values that are the same only where their texts are. */
function equalitiesIn(condition: Condition): readonly Equality[] {
  if (condition.kind === 'all') return condition.parts.flatMap(equalitiesIn)
  const isEqual =
    condition.kind === 'compare' &&
    condition.operator === 'eq' &&
    condition.path === undefined &&
    condition.isText !== true &&
    ['integer', 'text'].includes(condition.column.storage)
  return isEqual ? [condition] : []
}

function tableOf(query: Query): string {
  if (query.query === 'match') return query.table.name
  return query.query === 'relatedRows' ? query.relation.table.name : query.rows.table.name
}

/** Of most questions nobody knows how they could go together: they are shared by those alone who ask the same. */
function togetherOf(query: Query): Together | undefined {
  switch (query.query) {
    case 'rows': {
      const { rows, derived = [], related = [], locks } = query
      if (locks === true) return undefined
      return related.length + derived.length > 0 ? 'same' : togetherOfRows(rows)
    }
    case 'object': {
      const { rows, form } = query
      // With lists behind it, it may read many; of many shards nothing goes together.
      if (hasLists(form) || rows.table.shard !== undefined) return 'same'
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
 * Rows by a key, and a page of a whole table in the order of its key: each looks at no more rows than it answers, by an index
 * that is surely there.
 */
function togetherOfRows(rows: Rows): Together | undefined {
  const { table, where, order, limit, offset, distinct } = rows
  // Reads that go together as one statement would go to every shard.
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

/** No row that is looked at is left out. */
function readsEveryRow({ table, where, withDeleted = false }: Rows): boolean {
  return (withDeleted || table.deletedAt === undefined) && isKeyRange(where, table)
}

/** All rows, or those behind or before a key, as a cursor says. */
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

function hasLists(form: ObjectForm): boolean {
  return form.some(
    (entry) => entry.kind === 'list' || (entry.kind === 'owner' && hasLists(entry.form)),
  )
}

type KeyTest = Extract<Condition, { kind: 'compare' | 'list' }>

/** The test that every row must pass by an index that always exists. */
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
 * New rows wait for others only where a value must be unique or refers to another row: the one who has written or deleted that
 * must end first.
 */
function mayInsertWait({ key, indexes, relations }: SqlTable, columns: readonly Column[]): boolean {
  const isKeyed = columns.includes(key) && key.generated !== 'uuid'
  return (
    isKeyed ||
    indexes.some(({ unique }) => unique) ||
    [...relations.values()].some(({ kind }) => kind === 'belongsTo')
  )
}

/** The slot of the key, where an update is of one row. */
export function keySlotOf({
  table,
  where,
}: Extract<Change, { change: 'update' }>): number | undefined {
  const test = where && keyTestIn(where, table)
  return test?.kind === 'compare' && test.column === table.key ? test.slot : undefined
}

/** A value that must be unique or that refers to another row can be a reason to wait for what others have written. */
export function areIndependent(
  { indexes, relations }: SqlTable,
  columns: readonly Column[],
): boolean {
  const isIndexed = (column: Column): boolean =>
    indexes.some(({ unique, columns: indexed }) => unique && indexed.includes(column))
  const refers = (column: Column): boolean =>
    [...relations.values()].some(({ kind, local }) => kind === 'belongsTo' && local === column)
  return !columns.some((column) => column.isKey || isIndexed(column) || refers(column))
}
