/**
 * Says what a statement is, from its tree: what it does, to which tables, whether it may wait for others, how many rows it looks
 * at at most, and with whom it may go together.
 */
import type { Dialect } from '../engines/contract/dialect.js'
import type { RowTest, Statement, StatementKind, Together } from '../engines/contract/statement.js'
import type { Column } from '../engines/contract/table.js'
import { looksOf } from './bounds.js'
import type { Condition } from './condition.js'
import type { SqlTable } from './table.js'
import type { Change, ObjectForm, Question, Rows } from './tree.js'

export type Facts = Pick<Statement, 'kind' | 'mayWait' | 'together' | 'bound' | 'by'> & {
  /** The table that is asked for, or changed. */
  readonly table: string
}

/** @param placeOf where the value of a slot stands among those that a statement gets */
export function factsOf(
  tree: Question | Change,
  dialect: Dialect,
  placeOf: (slot: number) => number,
): Facts {
  if ('change' in tree) return factsOfChange(tree)
  const mayWait = tree.ask === 'rows' && tree.holds === true && dialect.lock !== ''
  const { rows: bound, by } = looksOf(tree, dialect, placeOf)
  const together = togetherOf(tree)
  return { table: tableOf(tree), kind: 'select', mayWait, together, bound, by }
}

/**
 * What rows of the table that is asked for must hold to matter to the answer, as far as it says so by equality. Rows that do not,
 * before and after they are written, change nothing of it.
 *
 * @param isNamedOnce no other part of the statement names the table
 */
export function rowTestOf(
  tree: Question | Change,
  placeOf: (slot: number) => number,
  isNamedOnce: (table: string) => boolean,
): RowTest | undefined {
  if ('change' in tree || !('rows' in tree) || tree.ask === 'behind') return undefined
  const { table, where } = tree.rows
  if (where === undefined || !isNamedOnce(table.name)) return undefined
  const columns = equalitiesIn(where).map(({ column, slot }) => ({
    name: column.name,
    place: placeOf(slot),
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
    condition.at === undefined &&
    condition.isText !== true &&
    ['integer', 'text'].includes(condition.column.storage)
  return isEqual ? [condition] : []
}

function tableOf(question: Question): string {
  if (question.ask === 'match') return question.table.name
  return question.ask === 'behind' ? question.tie.table.name : question.rows.table.name
}

/** Of most questions nobody knows how they could go together: they are shared by those alone who ask the same. */
function togetherOf(question: Question): Together | undefined {
  switch (question.ask) {
    case 'rows': {
      const { rows, derived = [], related = [], holds } = question
      if (holds === true) return undefined
      return related.length + derived.length > 0 ? 'same' : togetherOfRows(rows)
    }
    case 'object': {
      const { rows, form } = question
      // With lists behind it, it may read many; of many shards nothing goes together.
      if (hasLists(form) || rows.table.shard !== undefined) return 'same'
      return rows.where && keyTestIn(rows.where, rows.table)?.kind === 'compare' ? 'calls' : 'same'
    }
    case 'behind': {
      const { tie, shard } = question
      return tie.kind !== 'belongsTo' || shard !== undefined ? undefined : 'calls'
    }
    case 'count':
      return question.ends === undefined ? 'same' : undefined
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
  return isPage && isWhole(rows) ? 'page' : 'same'
}

/** No row that is looked at is left out. */
function isWhole({ table, where, withDeleted = false }: Rows): boolean {
  return (withDeleted || table.deletedAt === undefined) && isBehind(where, table)
}

/** All rows, or those behind or before a key, as a cursor says. */
function isBehind(condition: Condition | undefined, table: SqlTable): boolean {
  if (condition === undefined) return true
  if (condition.kind === 'all') return condition.parts.every((part) => isBehind(part, table))
  return (
    condition.kind === 'compare' &&
    condition.at === undefined &&
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
        condition.packed &&
        isUnique(condition.column, table)
        ? condition
        : undefined
    default:
      return undefined
  }
}

function isUniqueTest(
  { operator, at, column }: Extract<Condition, { kind: 'compare' }>,
  table: SqlTable,
): boolean {
  return operator === 'eq' && at === undefined && isUnique(column, table)
}

function isEqual(condition: Condition, column: Column): boolean {
  return (
    condition.kind === 'compare' &&
    condition.operator === 'eq' &&
    condition.at === undefined &&
    condition.column === column
  )
}

function isUnique(column: Column, { key, indexes }: SqlTable): boolean {
  if (column === key) return true
  return indexes.some(
    ({ unique, columns }) => unique && columns.length === 1 && columns[0] === column,
  )
}

function factsOfChange(change: Change): Facts {
  const facts = (kind: StatementKind, table: string, bound?: number): Facts => ({
    table,
    kind,
    mayWait: true,
    bound,
  })
  switch (change.change) {
    case 'insert': {
      const { table, columns, or } = change
      if (or !== undefined) return facts('upsert', table.name, 1)
      return { ...facts('insert', table.name), mayWait: mayInsertWait(table, columns) }
    }
    case 'update':
      return facts('update', change.table.name, keyPlaceOf(change) === undefined ? undefined : 1)
    case 'updateEach':
      return facts('update', change.table.name)
    case 'delete': {
      const isOne = change.where && keyTestIn(change.where, change.table)?.kind === 'compare'
      return facts('delete', change.table.name, isOne === true ? 1 : undefined)
    }
    case 'tie':
      return facts('insert', change.join.name, 1)
    case 'untie':
      return facts('delete', change.join.name, 1)
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
export function keyPlaceOf({
  table,
  where,
}: Extract<Change, { change: 'update' }>): number | undefined {
  const test = where && keyTestIn(where, table)
  return test?.kind === 'compare' && test.column === table.key ? test.slot : undefined
}

/** A value that must be unique or that refers to another row can be a reason to wait for what others have written. */
export function areOwn({ indexes, relations }: SqlTable, columns: readonly Column[]): boolean {
  const isIndexed = (column: Column): boolean =>
    indexes.some(({ unique, columns: indexed }) => unique && indexed.includes(column))
  const refers = (column: Column): boolean =>
    [...relations.values()].some(({ kind, local }) => kind === 'belongsTo' && local === column)
  return !columns.some((column) => column.isKey || isIndexed(column) || refers(column))
}
