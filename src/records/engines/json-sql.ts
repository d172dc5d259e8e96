/**
 * SQL that makes JSON. What a statement cannot say as graphql-js would (an Int beyond 32 bits, a number that is none, a
 * value that its enum does not have) makes the statement fail, and graphql-js tells what is wrong.
 */
import type { Column } from '../model/table.js'
import type { RawBuilder, Sql } from '../statements/builder.js'
import type { Around, Dialect, Row } from './engine.js'

export type Fragment = RawBuilder<unknown>

/** How a column's value becomes JSON. */
export type FieldForm =
  /** A key, as text. */
  | 'id'
  /** A whole number, which GraphQL shows up to 32 bits. */
  | 'int'
  | 'float'
  | 'boolean'
  /** Text and moments, as they are kept. */
  | 'text'
  | 'enum'
  /** Bytes, as base64. */
  | 'bytes'
  /** A JSON value or a nested class, as its text. */
  | 'json'
  /** A list of one of the others. */
  | 'list'

/** A column that is shown. */
export interface JsonField {
  readonly column: Column
  readonly form: FieldForm
  /** The form of a list's items. */
  readonly itemForm: FieldForm | undefined
  readonly enumeration: JsonEnum | undefined
  /** Of keys whose ids are global: what stands before each, the whole as base64. */
  readonly idPrefix: string | undefined
}

export interface JsonEnum {
  /** Names as clients write them, and the values that are kept. */
  readonly values: ReadonlyMap<string, string | number>
  /** Every name is its value. */
  readonly isPlain: boolean
}

export interface JsonSql {
  /** Keys are GraphQL names, values JSON as this engine hands it on. No pairs: `{}`. */
  object(pairs: readonly (readonly [key: string, value: Fragment])[]): Fragment
  /** The list of all rows' objects. */
  aggregate(object: Fragment): Fragment
  /** The same as the answer of a statement, in one column or more, which `textOfRow` reads. */
  all(object: Fragment): Fragment
  /** An object as the answer of a statement, likewise. */
  whole(object: Fragment): Fragment
  boolean(test: Fragment): Fragment
  /** A number that is never null. */
  count(number: Fragment): Fragment
  /** A GraphQL name. */
  text(name: string): Fragment
  /** JSON that a subquery answers, null where it has no row. */
  nested(subquery: Fragment): Fragment
  /** JSON of a row that may not be there: `null` then. */
  optional(json: Fragment): Fragment
  /** The base64 of a JSON list: the signature and a row's values. */
  cursor(signature: string, values: readonly CursorValue[]): Fragment
  /** A column as GraphQL sends it. */
  value(field: JsonField, column: Fragment): Fragment
}

/** How a row becomes a list of JSON, with its values as the driver gives them; bytes as base64. */
export interface RowJson {
  /** The function that makes a list of values. */
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

/** What both engines say alike. */
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

  /** A column of text, or what its kind makes the text of. */
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

  protected quoted(text: string): Fragment {
    return this.sql.raw(quote(text))
  }

  /** Null or good, else a failure. Of null the test is null, so that nothing has to ask for it. */
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
   * From kept values to what stands for their names; null stays null.
   *
   * @param write what stands for a name
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

/** The JSON that a statement answered: a column, or pieces of it, the rows of a list being null where there are none. */
export function textOfRow(row: Row | undefined): string {
  if (row === undefined) return 'null'
  if (row.length > 1) return row[1] === null ? '[]' : row.join('')
  const [value] = row
  // Counts are numbers on one engine; on the other they come as text, like JSON.
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? value : 'null'
}

/** GraphQL names need no quoting; values of enums are the developer's. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

function literal(value: string | number): string {
  return typeof value === 'number' ? String(value) : quote(value)
}
