/** Aggregate queries: groups of rows and values of each group. */
import { filled, join, raw, slot, sql, wrap, type Sql } from '../engines/contract/sql-text.js'
import type { Dialect } from '../engines/contract/dialect.js'
import { isDerived } from './derived.js'
import { operatorOf } from './operators.js'
import { writeDirection } from './order.js'
import type { RowWriter } from './row-writer.js'
import type { AggregateSelection, AggregateValue, MeasureTest, Rows } from './tree.js'
import type { WriteContext } from './write-context.js'

export function writeAggregates(
  rows: Rows,
  { groups, measures, having, order }: AggregateSelection,
  writer: RowWriter,
): Sql {
  const { context } = writer
  const alias = context.aliasOf(rows)
  const write = (value: AggregateValue): Sql => writeValue(value, alias, writer)
  const columns = [...groups, ...measures].map((value) => writeReturnedValue(value, alias, writer))
  const from = sql`select ${join(columns)} from ${context.table(rows.table.name, alias)}${writer.where(rows, alias)}`
  // A computed group is written as its position in the result, so that the expression is computed once.
  const writeGroup = (value: AggregateValue, index: number): Sql =>
    isComputed(value) ? raw(String(index + 1)) : write(value)
  const writeOrder = (value: AggregateValue): Sql => {
    const { column, order: template } = value
    if (template !== undefined) return write({ column, template })
    // The result has the value as text, which has another order.
    if (isReturnedAsText(value, context) && isRelated(value)) return write(value)
    const slotIndex = groups.indexOf(value)
    return slotIndex === -1 ? write(value) : writeGroup(value, slotIndex)
  }
  const groupBy = groups.length === 0 ? undefined : sql` group by ${join(groups.map(writeGroup))}`
  const tests = having.map((test) => writeTest(test, write(test.measure), context.dialect))
  const havingSql = tests.length === 0 ? undefined : sql` having ${join(tests, ' and ')}`
  const terms = order.map(({ measure, descending, nullsFirst }) =>
    writeDirection(writeOrder(measure), descending, nullsFirst),
  )
  const orderBy = terms.length === 0 ? undefined : sql` order by ${join(terms)}`
  const limit = typeof rows.limit === 'number' ? context.limit(rows.limit) : undefined
  return sql`${from}${groupBy}${havingSql}${orderBy}${limit}`
}

/** Whether a value is more than a column of the rows. */
function isComputed(value: AggregateValue): boolean {
  return value.template !== undefined || isRelated(value)
}

function isRelated({ column }: AggregateValue): boolean {
  return column !== undefined && isDerived(column)
}

function isReturnedAsText(
  { column, template }: AggregateValue,
  { dialect }: WriteContext,
): boolean {
  return (
    template === undefined && column !== undefined && dialect.values.returned(column) !== undefined
  )
}

function writeTest(
  { operator, slot: slotIndex, isNull, slots }: MeasureTest,
  value: Sql,
  dialect: Dialect,
): Sql {
  if (slots !== undefined) {
    const parts = slots.map((one) => sql`${value} = ${slot(one)}`)
    if (isNull === true) parts.push(sql`${value} is null`)
    return parts.length === 0 ? sql`1 = 0` : sql`(${join(parts, ' or ')})`
  }
  const write = operatorOf(operator).sql
  if (isNull !== undefined || write === undefined)
    return sql`${value} ${raw(isNull === true ? 'is null' : 'is not null')}`
  return write({ dialect, column: value, isNullable: true, isArray: false, value: slot(slotIndex) })
}

function writeValue(
  { column, template = '{c}' }: AggregateValue,
  alias: string,
  { conditions }: RowWriter,
): Sql {
  return column === undefined
    ? sql`count(*)`
    : filled(template, { c: conditions.value(alias, column) })
}

function writeReturnedValue(value: AggregateValue, alias: string, writer: RowWriter): Sql {
  const { dialect } = writer.context
  const written = writeValue(value, alias, writer)
  const { column, isText } = value
  if (column === undefined || isText === false) return written
  return isText === true
    ? sql`cast(${written} as text)`
    : wrap(dialect.values.returned(column), written)
}
