/** The comparisons of a filter, and the columns that each makes sense for. Source: decisions, Small print: records. */
import type { Column } from '../model/table.js'

export type Operator =
  'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'like' | 'ilike' | 'isNull'

interface OperatorEntry {
  fits(column: Column): boolean
  /** SQL between the column and the placeholder; `ne` has another where null is possible. */
  readonly sql: string
}

export const operators: Readonly<Record<Operator, OperatorEntry>> = {
  eq: { fits: isComparable, sql: '=' },
  ne: { fits: isComparable, sql: '<>' },
  gt: { fits: isOrdered, sql: '>' },
  gte: { fits: isOrdered, sql: '>=' },
  lt: { fits: isOrdered, sql: '<' },
  lte: { fits: isOrdered, sql: '<=' },
  in: { fits: isComparable, sql: 'in' },
  like: { fits: isText, sql: 'like' },
  ilike: { fits: isText, sql: 'like' },
  isNull: { fits: () => true, sql: 'is' },
}

/** JSON has no order and more than one spelling. */
function isComparable({ storage }: Column): boolean {
  return storage !== 'json'
}

/** Also what rows can be sorted by. */
export function isOrdered({ storage, isBoolean }: Column): boolean {
  return !isBoolean && storage !== 'json' && storage !== 'bytes'
}

function isText({ storage }: Column): boolean {
  return storage === 'text'
}
