/** The SQL of JSON that all dialects share. */
import type { Column } from './table.js'
import type { Dialect } from './dialect.js'
import type { JsonEnum, JsonField, JsonPart, JsonParts } from './json-sql.js'
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

  abstract object(pairs: readonly (readonly [key: string, value: Sql])[]): Sql
  abstract aggregate(object: Sql): Sql
  abstract optional(json: Sql): Sql
  abstract text(name: string): Sql

  /** @param depth the number of lists around the value */
  parts(json: Sql, { isList, entries }: JsonParts, depth = 1): Sql {
    if (!isList) {
      const object = this.object(entries.map((one) => [one.key, this.#part(one, json, depth)]))
      return this.optional(sql`case when ${this.jsonType(json)} = 'object' then ${object} end`)
    }
    const { from, item } = this.items(json, `j${depth}`)
    const object = this.parts(item, { isList: false, entries }, depth + 1)
    const list = this.nested(sql`select ${this.aggregate(object)} from ${from}`)
    return this.optional(sql`case when ${this.jsonType(json)} = 'array' then ${list} end`)
  }

  #part(entry: JsonPart, object: Sql, depth: number): Sql {
    if (entry.kind === 'name') return this.text(entry.name)
    if (entry.kind === 'column') return this.part(entry.field, object)
    return this.parts(this.jsonAt(object, entry.column), entry.parts, depth)
  }

  /** The type of a JSON value: `object`, `array` … */
  protected abstract jsonType(json: Sql): Sql
  /** The items of a JSON list, as rows. */
  protected abstract items(json: Sql, alias: string): { readonly from: Sql; readonly item: Sql }
  /** The JSON of an object's field. */
  protected abstract jsonAt(object: Sql, column: Column): Sql
  /** The value of an object's field as GraphQL sends it. */
  protected abstract part(field: JsonField, object: Sql): Sql

  /**
   * The text of a field within JSON. A decimal must have its full scale, which JSON of other programs may lack.
   *
   * @param position the name of the function that finds a character
   */
  protected partText({ field: { entry } }: Column, text: Sql, position: string, failure: Sql): Sql {
    if (entry.digits === undefined) return text
    const { scale } = entry.digits
    const found = sql`${raw(position)}(${text}, '.')`
    const isComplete =
      scale === 0 ? sql`${found} = 0` : sql`${found} = length(${text}) - ${raw(String(scale))}`
    return this.checked(text, isComplete, failure)
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
