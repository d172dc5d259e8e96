/** Writes trees as statements. Callers cache the plans: one for each shape of query. */
import type { Dialect } from '../engines/contract/dialect.js'
import {
  isBrief,
  type KeyPlaceholder,
  type OneNewRow,
  type OneRowChange,
  type RowsChange,
  type Statement,
} from '../engines/contract/statement.js'
import { storedColumnsOf, type Column } from '../engines/contract/table.js'
import { readKeyParts } from '../core/key-text.js'
import { quote, quoteTable } from '../engines/contract/quote.js'
import {
  join,
  name,
  raw,
  slot,
  sql,
  toText,
  type SlotPart,
  type Sql,
} from '../engines/contract/sql-text.js'
import {
  insertHead,
  insertTail,
  sequenceAdvance,
  updateHead,
  writeChange,
  writeUpdateOfCalls,
} from './change-writer.js'
import { partitionPartOf } from './key-columns.js'
import {
  areIndependent,
  keySlotOf,
  partitionsReadByKey,
  propertiesOf,
  rowTestOf,
} from './statement-properties.js'
import { writeAggregates } from './aggregates.js'
import { PageWriter } from './page-writer.js'
import { returnedColumns, RowWriter } from './row-writer.js'
import { ObjectWriter, RecordsWriter } from './selection-writer.js'
import type { Change, Query } from './tree.js'
import { WriteContext } from './write-context.js'

/** A statement and the order of its values. Cache it, because engines cache prepared statements by the `Statement` object. */
export interface Plan {
  readonly statement: Statement
  /**
   * The slot of each placeholder, or the part of a slot's value. `undefined` if the placeholders are in the order of the slots.
   */
  readonly order: readonly (number | SlotPart)[] | undefined
}

/** Converts values in the order of slots to the order of placeholders. */
export function arrangeValues(plan: Plan, values: readonly unknown[]): readonly unknown[] {
  return plan.order === undefined
    ? values
    : plan.order.map((ref) => (typeof ref === 'number' ? values[ref] : partOf(values, ref)))
}

/** @returns null if there is no key. SQLite's drivers accept no booleans, and PostgreSQL reads numbers as such */
function partOf(values: readonly unknown[], { slot: slotIndex, part }: SlotPart): unknown {
  const text = values[slotIndex]
  const value = typeof text === 'string' ? readKeyParts(text)[part] : null
  return typeof value === 'boolean' ? Number(value) : value
}

export function writeStatement(tree: Query | Change, dialect: Dialect): Plan {
  const writer = new RowWriter(new WriteContext(dialect))
  const text = 'change' in tree ? writeChange(tree, writer) : writeQuery(tree, writer)
  const { sql: written, order } = toText(text, dialect.statements.placeholder)
  const { table, ...properties } = propertiesOf(tree, dialect, (slotIndex) =>
    order.indexOf(slotIndex),
  )
  const statement: Statement = {
    sql: written,
    tables: Object.freeze([...new Set([table, ...writer.context.tables])]),
    for: 'client',
    ...properties,
    valueColumns: order.map((part) =>
      typeof part === 'number' ? writer.context.valueColumns.get(part) : undefined,
    ),
    ...batchingOf(tree, dialect, isBrief(properties) ? text : undefined),
    only: rowTestOf(
      tree,
      (slotIndex) => order.indexOf(slotIndex),
      (name) => writer.context.isNamedOnce(name),
    ),
    oneRow: 'change' in tree ? oneRowOf(tree, dialect, order) : undefined,
    rows: 'change' in tree ? rowsOf(tree, dialect) : undefined,
    newRow: 'change' in tree ? newRowOf(tree, dialect) : undefined,
  }
  const isInOrder = order.every((slotIndex, index) => slotIndex === index)
  return Object.freeze({
    statement: Object.freeze(statement),
    order: isInOrder ? undefined : order,
  })
}

/**
 * How an engine combines calls.
 *
 * @param text undefined: not at all
 */
function batchingOf(
  tree: Query | Change,
  dialect: Dialect,
  text: Sql | undefined,
): Pick<Statement, 'print' | 'partitions'> {
  if (text === undefined || !dialect.can.batchedCalls) return {}
  const partitions = dialect.tables.partitions && partitionsReadByKey(tree)
  if (partitions === 'keys') return {}
  return { print: printerOf(text), partitions: partitions && { areFew: partitions.areFew } }
}

/**
 * Whether a limit of one row, which changes no result, makes a plan of all partitions seem as cheap as one for given values. The
 * server then plans the statement once, and leaves partitions out when it starts.
 */
function isFindInFewPartitions(query: Query, { tables }: Dialect): boolean {
  const partitions = tables.partitions && partitionsReadByKey(query)
  return partitions !== undefined && partitions !== 'keys' && partitions.areFew
}

/** Apart from `writeStatement`, so that it keeps nothing but the text in memory. */
function printerOf(text: Sql): Statement['print'] {
  return (valueAt, isAnyOf) => toText(text, valueAt, isAnyOf).sql
}

function writeQuery(query: Query, writer: RowWriter): Sql {
  switch (query.query) {
    case 'rows': {
      const isFind = isFindInFewPartitions(query, writer.context.dialect)
      const rows = isFind ? { limit: { fixed: 1 }, ...query.rows } : query.rows
      return new RecordsWriter(writer).write({ ...query, rows })
    }
    case 'count':
      return writer.count(query)
    case 'relatedRows':
      return writer.relatedRows(query)
    case 'objects':
      return new ObjectWriter(writer).write(query)
    case 'object': {
      const text = new ObjectWriter(writer).write(query)
      return isFindInFewPartitions(query, writer.context.dialect) ? sql`${text} limit 1` : text
    }
    case 'page':
      return new PageWriter(query, writer, new ObjectWriter(writer)).write()
    case 'aggregate':
      return writeAggregates(query.rows, query.aggregates, writer)
    case 'match': {
      const alias = writer.context.alias()
      const row = [...query.values].map(
        ([column, slotIndex]) =>
          sql`${slot(slotIndex)}${raw(writer.context.dialect.values.typed(column))} as ${name(column.name)}`,
      )
      const test = writer.conditions.writeForOne(query.where, alias)
      return sql`select 1 from (select ${join(row)}) as ${name(alias)} where ${test}`
    }
  }
}

/** Lets an engine insert rows of several calls by one statement. Not if the insert advances the sequence of the key. */
function newRowOf(change: Change, dialect: Dialect): OneNewRow | undefined {
  if (change.change !== 'insert' || change.rowCountOrTypes !== 1 || change.returns !== 'row')
    return undefined
  const { table, columns, onConflict } = change
  const isAlone = !dialect.can.batchedCalls || table.shard !== undefined || onConflict !== undefined
  if (isAlone || columns.length === 0 || sequenceAdvance(change, dialect) !== undefined)
    return undefined
  const context = new WriteContext(dialect)
  return { head: insertHead(change, context), returning: insertTail(change, context) ?? '' }
}

/** Lets an engine change one row of each of several calls by one statement. */
function oneRowOf(
  change: Change,
  dialect: Dialect,
  order: readonly (number | SlotPart)[],
): OneRowChange | undefined {
  if (change.change !== 'update' || change.returns !== 'row' || !dialect.can.batchedCalls)
    return undefined
  const { table, columns, where, previousColumns = [], sums = [] } = change
  const key = keySlotOf(change)
  if (
    previousColumns.length + sums.length > 0 ||
    key === undefined ||
    table.shard !== undefined ||
    !areIndependent(table, columns)
  )
    return undefined
  const writer = new RowWriter(new WriteContext(dialect))
  const head = updateHead(change, writer)
  const own = writer.context.changedName(table.name)
  const condition = writer.filter({ table, where }, own) ?? sql`1 = 1`
  const part = partitionPartOf(table.key, dialect)
  return {
    table: quoteTable(table.name),
    own: quote(own),
    key: keyPlaceholders(table.key, key, order),
    partitions:
      part === undefined ? undefined : { part, areFew: table.partitions?.areFew ?? false },
    print: (valueAt, isAnyOf) => {
      const { sql: headSql, order: headOrder } = toText(head, valueAt)
      const rest = toText(
        condition,
        (position) => valueAt(headOrder.length + position),
        isAnyOf && ((column, position) => isAnyOf(column, headOrder.length + position)),
      )
      return { head: headSql, condition: rest.sql }
    },
    returning: sql` returning ${returnedColumns(table, own, writer.context)}`,
  }
}

function keyPlaceholders(
  key: Column,
  slotIndex: number,
  order: readonly (number | SlotPart)[],
): readonly KeyPlaceholder[] {
  return storedColumnsOf(key).map(({ name: column }, part) => {
    const isOfPart = (ref: number | SlotPart): boolean =>
      typeof ref === 'number' ? ref === slotIndex : ref.slot === slotIndex && ref.part === part
    return { column: quote(column), position: order.findIndex(isOfPart) + 1 }
  })
}

/** Lets an engine change several rows of each of several calls by one statement. */
function rowsOf(change: Change, dialect: Dialect): RowsChange | undefined {
  if (change.change !== 'updateEach' || !dialect.can.batchedCalls) return undefined
  const { table, columns, types, sums = [], hasVersions } = change
  if (sums.length > 0 || hasVersions === true) return undefined
  // The combined statement has each list once, and the planner needs the keys again.
  if (partitionPartOf(table.key, dialect) !== undefined) return undefined
  if (table.shard !== undefined || !areIndependent(table, columns)) return undefined
  const callsSql = writeUpdateOfCalls(change, new RowWriter(new WriteContext(dialect)))
  const { sql: together, order } = toText(callsSql, dialect.statements.placeholder)
  return {
    together,
    order: order.filter((ref) => typeof ref === 'number'),
    lists: types.length,
    keys: storedColumnsOf(table.key).map((_, index) => index),
    sizeOf: (values) => Number(values.at(-1)),
  }
}
