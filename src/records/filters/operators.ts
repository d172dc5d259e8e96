/**
 * The comparisons of a filter: which columns each makes sense for, what it is given, and its SQL. Reading a filter, a
 * query and GraphQL's inputs, writing SQL and counting costs all go by this table; a new operator is a line of it and its
 * member of `Operators` in `filter-types.ts`. Source: decisions, Small print: records; Second storey: records, Filters.
 */
import type { Dialect } from '../engines/engine.js'
import type { Column, ColumnComparison } from '../model/table.js'
import type { RawBuilder, Sql } from '../statements/builder.js'

type Fragment = RawBuilder<unknown>

/** What stands behind an operator. `operand.ts` reads each from a program's value and from a query's text. */
export type OperandKind =
  /** A value of the column's kind. */
  | 'value'
  /** A value of a list's kind. */
  | 'item'
  /** A list of them, null among them perhaps. */
  | 'list'
  /** `%` is any text, `_` any character, a backslash takes the next as it is. */
  | 'pattern'
  /** Text that stands for itself. */
  | 'part'
  /** True or false. */
  | 'flag'

export interface OperatorEntry {
  /** The columns that it makes sense for. */
  readonly fits: readonly ColumnComparison[]
  readonly operand: OperandKind
  /** For readers of the documentation. */
  readonly meaning: string
  /** What one of these makes the database do for each row: 1 is a comparison that an index may serve. */
  readonly cost: number
  /** Of patterns and parts: the pattern that the database is given. */
  readonly pattern?: (text: string, dialect: Dialect) => string
  /** Of what is no list and no test for null. */
  readonly sql?: (part: Parts) => Fragment
}

/** What an operator's SQL is made of. */
export interface Parts {
  readonly sql: Sql
  readonly dialect: Dialect
  readonly column: Fragment
  readonly isNullable: boolean
  /** The placeholder of the operand. */
  readonly value: Fragment
}

const all: readonly ColumnComparison[] = ['nothing', 'equality', 'order', 'text', 'list', 'json']
// Of JSON: values within it, beside `path`.
const comparable: readonly ColumnComparison[] = ['equality', 'order', 'text', 'json']
const ordered: readonly ColumnComparison[] = ['order', 'text', 'json']
const textual: readonly ColumnComparison[] = ['text', 'json']

const like = ({ sql, column, value }: Parts): Fragment => sql`${column} like ${value} escape '\\'`

/** By the engine's own test, or a pattern. */
function textTest(called: 'contains' | 'endsWith', parts: Parts): Fragment {
  const { sql, dialect, column, value } = parts
  const test = dialect.textHas?.[called]
  if (test === undefined) return like(parts)
  const written = test.split(/(\{[cv]\})/).map((part) => {
    if (part === '{c}') return column
    return part === '{v}' ? value : sql.raw(part)
  })
  return sql.join(written, sql``)
}

export const operators = {
  eq: {
    fits: comparable,
    operand: 'value',
    meaning: 'Equal; null is equal to null.',
    cost: 1,
    sql: ({ sql, column, value }) => sql`${column} = ${value}`,
  },
  ne: {
    fits: comparable,
    operand: 'value',
    meaning: 'Not equal; null differs from every value.',
    cost: 1,
    sql: ({ sql, column, value, isNullable }) =>
      isNullable ? sql`${column} is distinct from ${value}` : sql`${column} <> ${value}`,
  },
  gt: {
    fits: ordered,
    operand: 'value',
    meaning: 'Larger.',
    cost: 1,
    sql: ({ sql, column, value }) => sql`${column} > ${value}`,
  },
  gte: {
    fits: ordered,
    operand: 'value',
    meaning: 'Larger or equal.',
    cost: 1,
    sql: ({ sql, column, value }) => sql`${column} >= ${value}`,
  },
  lt: {
    fits: ordered,
    operand: 'value',
    meaning: 'Smaller.',
    cost: 1,
    sql: ({ sql, column, value }) => sql`${column} < ${value}`,
  },
  lte: {
    fits: ordered,
    operand: 'value',
    meaning: 'Smaller or equal.',
    cost: 1,
    sql: ({ sql, column, value }) => sql`${column} <= ${value}`,
  },
  in: {
    fits: comparable,
    operand: 'list',
    meaning: 'One of these; an empty list matches no row.',
    cost: 1,
  },
  like: {
    fits: textual,
    operand: 'pattern',
    meaning: '`%` is any text, `_` any character, a backslash takes the next as it is. Heeds case.',
    cost: 5,
    sql: like,
  },
  ilike: {
    fits: textual,
    operand: 'pattern',
    meaning: '`like` without regard to case.',
    cost: 8,
    pattern: (text, dialect) => dialect.foldValue(text),
    sql: ({ sql, column, value, dialect }) => {
      const [before, after] = dialect.fold
      return sql`${sql.raw(before)}${column}${sql.raw(after)} like ${value} escape '\\'`
    },
  },
  startsWith: {
    fits: textual,
    operand: 'part',
    meaning: 'Begins with this text, character for character.',
    cost: 3,
    pattern: (text) => `${escapePattern(text)}%`,
    sql: like,
  },
  endsWith: {
    fits: textual,
    operand: 'part',
    meaning: 'Ends with this text.',
    cost: 5,
    pattern: (text, dialect) => (dialect.textHas ? text : `%${escapePattern(text)}`),
    sql: (parts) => textTest('endsWith', parts),
  },
  contains: {
    fits: textual,
    operand: 'part',
    meaning: 'Has this text somewhere.',
    cost: 5,
    pattern: (text, dialect) => (dialect.textHas ? text : `%${escapePattern(text)}%`),
    sql: (parts) => textTest('contains', parts),
  },
  has: {
    fits: ['list'],
    operand: 'item',
    meaning: 'The list has this value.',
    cost: 4,
    sql: ({ sql, column, value, dialect }) => {
      const [before, between, behind] = dialect.listHas
      return sql`${sql.raw(before)}${column}${sql.raw(between)}${value}${sql.raw(behind)}`
    },
  },
  isNull: {
    fits: all,
    operand: 'flag',
    meaning: 'Whether it is null.',
    cost: 1,
  },
} as const satisfies Readonly<Record<string, OperatorEntry>>

export type Operator = keyof typeof operators

/** The entry of an operator, as it may be: members that it has not are undefined. */
export function operatorOf(name: Operator): OperatorEntry {
  return operators[name]
}

/** The names of all that make sense for such columns, in the table's order. */
export function operatorsFor(compares: ColumnComparison): Operator[] {
  const names = Object.keys(operators) as Operator[]
  return names.filter((name) => operatorOf(name).fits.includes(compares))
}

/** @throws never; a name that no operator has is undefined */
export function readOperator(name: string): Operator | undefined {
  return Object.hasOwn(operators, name) ? (name as Operator) : undefined
}

/** What rows can be sorted by. */
export function isOrdered({ compares, isBoolean }: Column): boolean {
  return isBoolean || compares === 'order' || compares === 'text'
}

/** Text as a pattern that finds nothing else. */
function escapePattern(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
