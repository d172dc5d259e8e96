/** The SQL of JSON that all dialects share. */
import type { Column } from './table.js'
import type { Dialect } from './dialect.js'
import type { JsonEnum } from './json-sql.js'
import { join, literal, raw, sql, wrap, type Sql } from './sql-text.js'

const smallestInt = -2147483648
const largestInt = 2147483647

export abstract class AnyJson {
  readonly #dialect: Dialect

  constructor(dialect: Dialect) {
    this.#dialect = dialect
  }

  nested(subquery: Sql): Sql {
    return wrap(this.#dialect.json.ofSubquery, sql`(${subquery})`)
  }

  /** A text column, or the text form of its kind. */
  protected textOf(model: Column, column: Sql): Sql {
    const { sqlText } = model.field.entry
    if (sqlText === undefined) return wrap(this.#dialect.values.textOf(model), column)
    return join(sqlText.split(/\bv\b/).map(raw), column)
  }

  /** A number as it stands in JSON. */
  protected numberOf({ storage }: Column, column: Sql): Sql {
    return wrap(storage === 'real' ? this.#dialect.json.ofDouble : undefined, column)
  }

  /** The value if it is null or good, otherwise a failure. For null the test is null too, so it passes. */
  protected checked(value: Sql, isGood: Sql, failure: Sql): Sql {
    return sql`case when not (${isGood}) then ${failure} else ${value} end`
  }

  protected isInt(value: Sql): Sql {
    return sql`${value} between ${raw(`${smallestInt} and ${largestInt}`)}`
  }

  protected isAmong(column: Sql, { values }: JsonEnum): Sql {
    const literals = [...values.values()].map(constant).join(', ')
    return sql`${column} in (${raw(literals)})`
  }

  /**
   * Converts stored values to their names; null stays null.
   *
   * @param write writes a name
   */
  protected named(
    column: Sql,
    { values }: JsonEnum,
    failure: Sql,
    write = (name: string): string => name,
  ): Sql {
    const cases = [...values].map(
      ([name, value]) => `when ${constant(value)} then ${literal(write(name))}`,
    )
    return sql`case when ${column} is null then null else case ${column} ${raw(cases.join(' '))} else ${failure} end end`
  }
}

function constant(value: string | number): string {
  return typeof value === 'number' ? String(value) : literal(value)
}
