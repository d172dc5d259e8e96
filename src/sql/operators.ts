/**
 * The operators of filters: the columns they apply to, their operand and their SQL. Filters, URL parameters, GraphQL inputs,
 * SQL, cost estimates and filter types are made from this table, so a new operator is one entry here.
 */
import type { Dialect } from '../engines/contract/dialect.js'
import { filled, raw, sql, wrap, type Sql } from '../engines/contract/sql-text.js'
import type { Column, ColumnComparison } from '../engines/contract/table.js'

export type OperandKind =
  /** A value of the column's kind. */
  | 'value'
  /** A value of the list's kind. */
  | 'item'
  /** A list of values, which may contain null. */
  | 'list'
  /** A list of as many values as `means` has comparisons, without null. */
  | 'values'
  /** A pattern: `%` is any text, `_` any character; a backslash before a character takes it literally. */
  | 'pattern'
  /** Literal text. */
  | 'part'
  /** True or false. */
  | 'flag'

/** The operators with the operand `value`. */
type ValueOperator = 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte'

type Comparisons = readonly ColumnComparison[]

export interface OperatorEntry {
  /** The columns that the operator applies to. */
  readonly fits: Comparisons
  readonly operand: OperandKind
  /** Whether the operand must be one of the values that the field can have (`oneOf`). */
  readonly isEquality?: true
  /** For `value`: null is allowed. */
  readonly takesNull?: true
  /** For the documentation. */
  readonly meaning: string
  /** Work for each row in cost estimates: 1 is a comparison of two values. */
  readonly cost: number
  /** The SQL operator, if there is one. Conditions of partial indexes use it with literals. */
  readonly symbol?: string
  /** The operator that matches the other values. Both match no null, unless null is the operand. */
  readonly opposite?: ValueOperator
  /** For `values`: the comparisons that must all hold, one with each value. It is read, written and charged as these. */
  readonly means?: readonly ValueOperator[]
  /** For patterns and literal text: the pattern that the database receives. */
  readonly pattern?: (text: string, dialect: Dialect) => string
  /** The SQL, unless the operand is a list or a test for null. */
  readonly sql?: (part: ComparisonParts) => Sql
}

/** The parts for an operator's SQL. */
export interface ComparisonParts {
  readonly dialect: Dialect
  readonly column: Sql
  readonly isNullable: boolean
  /** Whether it is a list that the engine stores as an array. */
  readonly isArray: boolean
  /** The placeholder of the operand. */
  readonly value: Sql
}

// Tuples of literals, because the types of filters are made from them.
const all = ['nothing', 'equality', 'order', 'text', 'list', 'json'] as const satisfies Comparisons
// For JSON: compares values within it, at `path`.
const comparable = ['equality', 'order', 'text', 'json'] as const satisfies Comparisons
const ordered = ['order', 'text', 'json'] as const satisfies Comparisons
const textual = ['text', 'json'] as const satisfies Comparisons

const compare =
  (symbol: string) =>
  ({ column, value }: ComparisonParts): Sql =>
    sql`${column} ${raw(symbol)} ${value}`

const like = ({ column, value }: ComparisonParts): Sql => sql`${column} like ${value} escape '\\'`

/** Uses the function of the engine if there is one, otherwise a pattern. */
function textTest(operator: 'contains' | 'endsWith', parts: ComparisonParts): Sql {
  const test = parts.dialect.text.has?.[operator]
  return test === undefined ? like(parts) : filled(test, { c: parts.column, v: parts.value })
}

export const operators = {
  /** Equal; null equals null. */
  eq: {
    isEquality: true,
    fits: comparable,
    operand: 'value',
    takesNull: true,
    meaning: 'Equal; null equals null.',
    cost: 1,
    symbol: '=',
    opposite: 'ne',
    sql: compare('='),
  },
  /** Not equal; null differs from every value. */
  ne: {
    isEquality: true,
    fits: comparable,
    operand: 'value',
    takesNull: true,
    meaning: 'Not equal; null differs from every value.',
    cost: 1,
    symbol: '<>',
    opposite: 'eq',
    sql: ({ column, value, isNullable }) =>
      isNullable ? sql`${column} is distinct from ${value}` : sql`${column} <> ${value}`,
  },
  gt: {
    fits: ordered,
    operand: 'value',
    meaning: 'Larger.',
    cost: 1,
    symbol: '>',
    opposite: 'lte',
    sql: compare('>'),
  },
  gte: {
    fits: ordered,
    operand: 'value',
    meaning: 'Greater or equal.',
    cost: 1,
    symbol: '>=',
    opposite: 'lt',
    sql: compare('>='),
  },
  lt: {
    fits: ordered,
    operand: 'value',
    meaning: 'Smaller.',
    cost: 1,
    symbol: '<',
    opposite: 'gte',
    sql: compare('<'),
  },
  lte: {
    fits: ordered,
    operand: 'value',
    meaning: 'Less or equal.',
    cost: 1,
    symbol: '<=',
    opposite: 'gt',
    sql: compare('<='),
  },
  /** From the first value to the second, both included: `[1, 5]`. */
  between: {
    fits: ordered,
    operand: 'values',
    meaning: 'From the first of two values to the second, both included.',
    cost: 1,
    means: ['gte', 'lte'],
  },
  /** One of these. An empty list matches no row. */
  in: {
    isEquality: true,
    fits: comparable,
    operand: 'list',
    meaning: 'One of these; an empty list matches no row.',
    cost: 1,
  },
  /** `%` is any text, `_` any character; a backslash before a character takes it literally. Case-sensitive. */
  like: {
    fits: textual,
    operand: 'pattern',
    meaning:
      '`%` is any text, `_` any character, a backslash takes the next character literally. Case-sensitive.',
    cost: 10,
    sql: like,
  },
  /** The same, case-insensitive. */
  ilike: {
    fits: textual,
    operand: 'pattern',
    meaning: '`like`, case-insensitive.',
    cost: 15,
    pattern: (text, dialect) => dialect.text.foldValue(text),
    sql: ({ column, value, dialect }) =>
      sql`${wrap(dialect.text.fold, column)} like ${value} escape '\\'`,
  },
  /** Starts with this text, taken literally: `%` and `_` are ordinary characters. Case-sensitive, as are the next two. */
  startsWith: {
    fits: textual,
    operand: 'part',
    meaning: 'Starts with this text, taken literally.',
    cost: 10,
    pattern: (text) => `${escapePattern(text)}%`,
    sql: like,
  },
  endsWith: {
    fits: textual,
    operand: 'part',
    meaning: 'Ends with this text.',
    cost: 10,
    pattern: (text, dialect) => (dialect.text.has ? text : `%${escapePattern(text)}`),
    sql: (parts) => textTest('endsWith', parts),
  },
  contains: {
    fits: textual,
    operand: 'part',
    meaning: 'Contains this text.',
    cost: 10,
    pattern: (text, dialect) => (dialect.text.has ? text : `%${escapePattern(text)}%`),
    sql: (parts) => textTest('contains', parts),
  },
  has: {
    isEquality: true,
    fits: ['list'],
    operand: 'item',
    meaning: 'The list contains this value.',
    cost: 10,
    sql: ({ column, value, dialect, isArray }) =>
      filled(dialect.lists.has(isArray), { c: column, v: value }),
  },
  isNull: {
    fits: all,
    operand: 'flag',
    meaning: 'Whether it is null.',
    cost: 1,
  },
} as const satisfies Readonly<Record<string, OperatorEntry>>

export type Operator = keyof typeof operators

export const operatorNames = Object.keys(operators) as readonly Operator[]

/** Whether the operator selects the values above or below a value. */
export function selectsRange(name: Operator): boolean {
  const { operand, fits } = operatorOf(name)
  return operand === 'value' && !fits.includes('equality')
}

/** Whether the operator searches a text or a list, whose length is unknown. */
export function searchesText(name: Operator): boolean {
  const { operand } = operatorOf(name)
  return operand === 'pattern' || operand === 'part' || operand === 'item'
}

/** The entry of an operator, typed so that optional members may be undefined. */
export function operatorOf(name: Operator): OperatorEntry {
  return operators[name]
}

/** The operators for columns with this comparison, in the order of the table. */
export function operatorsFor(compares: ColumnComparison): Operator[] {
  return operatorNames.filter((name) => operatorOf(name).fits.includes(compares))
}

/** @returns `undefined` for an unknown name */
export function readOperator(name: string): Operator | undefined {
  return Object.hasOwn(operators, name) ? (name as Operator) : undefined
}

/** Whether rows can be sorted by the column. */
export function isOrdered({ compares, isBoolean }: Column): boolean {
  return isBoolean || compares === 'order' || compares === 'text'
}

/** Escapes a text so that a pattern matches it literally. */
function escapePattern(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
