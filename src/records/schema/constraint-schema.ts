/**
 * Turns the rules of a field into constraints of the database, so that other programs keep them too: `min`, `max`,
 * `oneOf` and `maxLength` become one check, `default` the column's default. Sources: PostgreSQL, Constraints; SQLite,
 * CREATE TABLE.
 */
import type { Dialect } from '../../engines/contract/dialect.js'
import { toCheckName } from '../model/column-names.js'
import type { Column } from '../../engines/contract/table.js'
import { quote } from '../../engines/contract/ddl.js'
import { toLiteral } from './literal.js'
import type { CheckSchema } from '../../engines/contract/table-schema.js'

/** @returns `undefined` if the database could not break any rule, and with `check: false` */
export function toCheckSchema(
  table: string,
  column: Column,
  dialect: Dialect,
): CheckSchema | undefined {
  if (!hasConstraints(column)) return undefined
  const tests = writeTests(column, dialect)
  if (tests.length === 0) return undefined
  const rule = tests.join(' and ')
  const sql = rule.replaceAll('{c}', () => quote(column.name))
  return { name: toCheckName(table, column.name, rule), sql }
}

/** SQL of the default for rows that are written without a value; `undefined` if only the record can compute it. */
export function toPreset(column: Column, dialect: Dialect): string | undefined {
  const { rules, entry } = column.field
  const value: unknown = rules.default
  if (!hasConstraints(column, true) || value === undefined || value === null) return undefined
  if (typeof value === 'function') return undefined
  if (value === 'now' && entry.now !== undefined) return dialect.now[column.storage]
  return toLiteral(value, column, dialect)
}

/** Lists and JSON have no checks: their rules apply to the values within them. */
function hasConstraints({ isKey, storage, field }: Column, ofLists = false): boolean {
  return !isKey && field.rules.check !== false && (ofLists || storage !== 'json')
}

function writeTests(column: Column, dialect: Dialect): string[] {
  const { min, max, oneOf, maxLength } = column.field.rules
  const literal = (value: unknown): string | undefined => toLiteral(value, column, dialect)
  const tests: string[] = []
  const [least, most] = [min, max].map((value) => (value === undefined ? value : literal(value)))
  if (least !== undefined) tests.push(`{c} >= ${least}`)
  if (most !== undefined) tests.push(`{c} <= ${most}`)
  const values = oneOf?.map(literal)
  if (values !== undefined) tests.push(`{c} in (${values.join(', ')})`)
  if (maxLength !== undefined) tests.push(`${dialect.lengthOf(column)} <= ${maxLength}`)
  return tests
}
