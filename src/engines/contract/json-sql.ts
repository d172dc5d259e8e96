/**
 * SQL that makes JSON. Values that GraphQL cannot express (an Int beyond 32 bits, a number that is not finite, a value
 * that is not in its enum, a key that is null) make the statement fail as `inexpressible`: then, and for no other reason,
 * graphql-js runs the query again and reports the error.
 */
import type { Column } from './table.js'
import type { RawBuilder, Sql } from 'kysely'
import type { Around, Dialect, Row } from './engine.js'

export type Fragment = RawBuilder<unknown>

/** How a column's value becomes JSON. */
export type FieldForm =
  /** A key, as text. */
  | 'id'
  /** An integer, which GraphQL limits to 32 bits. */
  | 'int'
  | 'float'
  | 'boolean'
  /** Text and moments, as they are stored. */
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
  object(pairs: readonly (readonly [key: string, value: Fragment])[]): Fragment
  /** The list of all rows' objects. */
  aggregate(object: Fragment): Fragment
  /** The same as a statement's result, in one column or more, which `textOfRow` reads. */
  all(object: Fragment): Fragment
  /** An object as a statement's result, likewise. */
  whole(object: Fragment): Fragment
  boolean(test: Fragment): Fragment
  /** A number that is never null. */
  count(number: Fragment): Fragment
  /** A GraphQL name. */
  text(name: string): Fragment
  /** The JSON of a subquery, null if it has no row. */
  nested(subquery: Fragment): Fragment
  /** The JSON of a row that may be missing: then `null`. */
  optional(json: Fragment): Fragment
  /** The base64 of a JSON list: the signature and a row's values. */
  cursor(signature: string, values: readonly CursorValue[]): Fragment
  /** A column's value as GraphQL sends it. */
  value(field: JsonField, column: Fragment): Fragment
}

/** How a row becomes a JSON list of the driver's values; bytes as base64. */
export interface RowJson {
  /** The name of the function that makes a list of values. */
  readonly list: string
  /** Around a row's list: the list of all of them. */
  readonly all: Around
  value(column: Column): Around | undefined
}

export interface CursorValue {
  readonly column: Column
  readonly value: Fragment
}

const smallestInt = -2147483648
const largestInt = 2147483647

/** The SQL that both engines share. */
export abstract class AnyJson {
  protected readonly sql: Sql
  readonly #ofSubquery: Dialect['jsonOfSubquery']

  readonly #dialect: Dialect

  constructor(sql: Sql, dialect: Dialect) {
    this.sql = sql
    this.#dialect = dialect
    this.#ofSubquery = dialect.jsonOfSubquery
  }

  nested(subquery: Fragment): Fragment {
    const [before, after] = this.#ofSubquery
    return this.sql`${this.sql.raw(before)}(${subquery})${this.sql.raw(after)}`
  }

  /** A text column, or the text form of its kind. */
  protected textOf(model: Column, column: Fragment): Fragment {
    const { sqlText } = model.field.entry
    const { sql } = this
    if (sqlText === undefined) {
      const around = this.#dialect.textOf(model)
      return around === undefined
        ? column
        : sql`${sql.raw(around[0])}${column}${sql.raw(around[1])}`
    }
    const parts = sqlText.split(/\bv\b/).map((part) => sql.raw(part))
    return sql.join(parts, column)
  }

  /** A number as it stands in JSON. */
  protected numberOf({ storage }: Column, column: Fragment): Fragment {
    const around = storage === 'real' ? this.#dialect.jsonOfDouble : undefined
    if (around === undefined) return column
    return this.sql`${this.sql.raw(around[0])}${column}${this.sql.raw(around[1])}`
  }

  protected quoted(text: string): Fragment {
    return this.sql.raw(quote(text))
  }

  /** The value if it is null or good, otherwise a failure. For null the test is null too, so it passes. */
  protected checked(value: Fragment, isGood: Fragment, fault: Fragment): Fragment {
    return this.sql`case when not (${isGood}) then ${fault} else ${value} end`
  }

  protected isInt(value: Fragment): Fragment {
    return this.sql`${value} between ${this.sql.raw(`${smallestInt} and ${largestInt}`)}`
  }

  protected isAmong(column: Fragment, { values }: JsonEnum): Fragment {
    const literals = [...values.values()].map(literal).join(', ')
    return this.sql`${column} in (${this.sql.raw(literals)})`
  }

  /**
   * Converts stored values to their names; null stays null.
   *
   * @param write writes a name
   */
  protected named(
    column: Fragment,
    { values }: JsonEnum,
    fault: Fragment,
    write = (name: string): string => name,
  ): Fragment {
    const cases = [...values].map(
      ([name, value]) => `when ${literal(value)} then ${quote(write(name))}`,
    )
    const { sql } = this
    return sql`case when ${column} is null then null else case ${column} ${sql.raw(cases.join(' '))} else ${fault} end end`
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

/** GraphQL names need no escaping, but values of enums may contain anything. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

function literal(value: string | number): string {
  return typeof value === 'number' ? String(value) : quote(value)
}
