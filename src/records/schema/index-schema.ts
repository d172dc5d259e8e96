/**
 * Indexes as SQL: the order of their columns, the rows in them, and trigrams. Sources: PostgreSQL, Indexes; SQLite,
 * Partial Indexes.
 */
import type { Dialect } from '../../engines/contract/dialect.js'
import { testsOf } from '../model/read-indexes.js'
import type { Column, IndexForm, TableIndex } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import { quote } from '../../engines/contract/ddl.js'
import { toLiteral } from './literal.js'
import type { IndexSchema } from '../../engines/contract/table-schema.js'

/** @returns an empty list if the database has no such index */
export function toIndexSchema(table: Table, index: TableIndex, dialect: Dialect): IndexSchema[] {
  const { name, columns, unique, form } = index
  const schema: IndexSchema = {
    name,
    columns: columns.map((column) => column.name),
    unique,
    whereNull: unique ? table.deletedAt?.name : undefined,
  }
  if (form === undefined) return [schema]
  const undeleted = schema.whereNull === undefined ? [] : [`${quote(schema.whereNull)} is null`]
  const rows = form.where && writeRows(table, form.where, dialect)
  const where = rows && [rows, ...undeleted].join(' and ')
  if (!form.like) return [{ ...schema, where, parts: writeOrders(columns, form, dialect) }]
  if (!dialect.indexes.trigrams) return []
  // One index for `like`, one for case-insensitive comparisons.
  const [before, after] = dialect.fold
  const parts = columns.flatMap(({ name: column, isUuid }) => {
    const text = isUuid ? (dialect.uuidText ?? []).join(quote(column)) : quote(column)
    return [isUuid ? `(${text})` : text, `${before}${text}${after}`].map(
      (part) => `${part} gin_trgm_ops`,
    )
  })
  return [{ ...schema, where, parts, using: 'gin', extension: 'pg_trgm' }]
}

/** Nulls come last in either direction, as they do in lists. SQLite has no syntax for it. */
function writeOrders(columns: readonly Column[], { orders }: IndexForm, dialect: Dialect) {
  return columns.map(({ name, nullable }, place) => {
    const { descending = false, nullsFirst = false } = orders[place] ?? {}
    const nulls =
      nullable && dialect.indexes.nulls ? (nullsFirst ? ' nulls first' : ' nulls last') : ''
    return `${quote(name)}${descending ? ' desc' : ''}${nulls}`
  })
}

function writeRows(
  table: Table,
  where: Readonly<Record<string, unknown>>,
  dialect: Dialect,
): string {
  const tests = Object.entries(where).flatMap(([property, test]) => {
    const column = table.byProperty.get(property) as Column
    return testsOf(test).map(([operator, operand]) => writeTest(column, operator, operand, dialect))
  })
  return tests.join(' and ')
}

function writeTest(column: Column, operator: string, operand: unknown, dialect: Dialect): string {
  const name = quote(column.name)
  const literal = (value: unknown): string => toLiteral(value, column, dialect) ?? 'null'
  if (operator === 'isNull' || operand === null)
    return `${name} is ${operand === false ? 'not ' : ''}null`
  if (operator === 'in') return `${name} in (${(operand as unknown[]).map(literal).join(', ')})`
  return `${name} ${signs[operator] ?? '='} ${literal(operand)}`
}

const signs: Readonly<Record<string, string>> = {
  eq: '=',
  ne: '<>',
  gt: '>',
  gte: '>=',
  lt: '<',
  lte: '<=',
}
