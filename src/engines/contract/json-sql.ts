/**
 * SQL that makes JSON. Values that GraphQL cannot express (an Int beyond 32 bits, a number that is not finite, a value
 * that is not in its enum, a key that is null) make the statement fail as `inexpressible`: then, and for no other
 * reason, graphql-js runs the query again and reports the error.
 */
import type { Column } from './table.js'
import type { Dialect } from './dialect.js'
import type { SqlWrapper, Row } from './engine.js'
import { join, literal, raw, sql, wrap, type Sql } from './sql-text.js'

/** How a column's value becomes JSON. */
export type FieldForm =
  /** A key, as text. */
  | 'id'
  /** An integer, which GraphQL's `Int` limits to 32 bits. */
  | 'int'
  /** An integer that may be larger. */
  | 'integer'
  | 'float'
  | 'boolean'
  /** Text and timestamps, as they are stored. */
  | 'text'
  | 'enum'
  /** Bytes, as base64. */
  | 'bytes'
  /** A JSON value or a nested class, as its text. */
  | 'json'
  /** A list of one of the others. */
  | 'list'

/** A selected column. */
export interface JsonField {
  readonly column: Column
  readonly form: FieldForm
  /** The form of a list's items. */
  readonly itemForm: FieldForm | undefined
  readonly enumeration: JsonEnum | undefined
  /** For keys with global ids: the prefix of each id, before it is encoded as base64. */
  readonly idPrefix: string | undefined
}

export interface JsonEnum {
  /** The names that clients use, with the stored values. */
  readonly values: ReadonlyMap<string, string | number>
  /** True if every name equals its value. */
  readonly isPlain: boolean
}

export interface JsonSql {
  /** Keys are GraphQL names, values are JSON as this engine writes it. Without pairs: `{}`. */
  object(pairs: readonly (readonly [key: string, value: Sql])[]): Sql
  /** The list of all rows' objects. */
  aggregate(object: Sql): Sql
  /** The same as a statement's result, in one column or more, which `textOfRow` reads. */
  all(object: Sql): Sql
  /** An object as a statement's result, likewise. */
  objectResult(object: Sql): Sql
  boolean(test: Sql): Sql
  /** A number that is never null. */
  count(number: Sql): Sql
  /** A GraphQL name. */
  text(name: string): Sql
  /** The JSON of a subquery, null if it has no row. */
  nested(subquery: Sql): Sql
  /** The JSON of a row that may be missing: then `null`. */
  optional(json: Sql): Sql
  /** The base64 of a JSON list: the signature and a row's values. */
  cursor(signature: string, values: readonly CursorValue[]): Sql
  /** A column's value as GraphQL sends it. */
  value(field: JsonField, column: Sql): Sql
}

/** How a row becomes a JSON list of the driver's values; bytes as base64. */
export interface RowJson {
  /** The name of the function that makes a list of values. */
  readonly list: string
  /** Around a row's list: the list of all of them. */
  readonly all: SqlWrapper
  value(column: Column): SqlWrapper | undefined
}

export interface CursorValue {
  readonly column: Column
  readonly value: Sql
}

const smallestInt = -2147483648
const largestInt = 2147483647

/** The SQL that both engines share. */
export abstract class AnyJson {
  readonly #dialect: Dialect

  constructor(dialect: Dialect) {
    this.#dialect = dialect
  }

  nested(subquery: Sql): Sql {
    return wrap(this.#dialect.jsonOfSubquery, sql`(${subquery})`)
  }

  /** A text column, or the text form of its kind. */
  protected textOf(model: Column, column: Sql): Sql {
    const { sqlText } = model.field.entry
    if (sqlText === undefined) return wrap(this.#dialect.textOf(model), column)
    return join(sqlText.split(/\bv\b/).map(raw), column)
  }

  /** A number as it stands in JSON. */
  protected numberOf({ storage }: Column, column: Sql): Sql {
    return wrap(storage === 'real' ? this.#dialect.jsonOfDouble : undefined, column)
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

/**
 * The JSON in a statement's result: one column, or several pieces; the column with a list's rows is null if there are
 * none.
 */
export function textOfRow(row: Row | undefined): string {
  if (row === undefined) return 'null'
  if (row.length > 1) return row[1] === null ? '[]' : row.join('')
  const [value] = row
  // Counts are numbers on one engine, and text on the other.
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? value : 'null'
}

function constant(value: string | number): string {
  return typeof value === 'number' ? String(value) : literal(value)
}
