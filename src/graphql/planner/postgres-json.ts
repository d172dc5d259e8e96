/**
 * SQL that writes JSON as text on PostgreSQL, piece by piece: functions that make JSON look up the type of each value
 * again in every row, and read again what they have made. A null would make the whole text null, and so no piece is one.
 * Source: PostgreSQL, JSON Functions and Operators; String Functions and Operators.
 */
import type { EnumModel, FieldForm, FieldModel } from '../records/model.js'
import { AnyJson, type CursorValue, type Fragment, type JsonSql } from './json-sql.js'

const largestFloat = '1.7976931348623157e308'

export class PostgresJson extends AnyJson implements JsonSql {
  object(pairs: readonly (readonly [string, Fragment])[]): Fragment {
    if (pairs.length === 0) return this.sql`cast('{}' as text)`
    const pieces = pairs.flatMap(([key, value], index) => [
      this.quoted(`${index === 0 ? '{' : ','}${JSON.stringify(key)}:`),
      value,
    ])
    return this.#concatenated([...pieces, this.quoted('}')])
  }

  aggregate(object: Fragment): Fragment {
    return this.sql`'[' || coalesce(string_agg(${object}, ','), '') || ']'`
  }

  boolean(test: Fragment): Fragment {
    return this.sql`case when ${test} then 'true' else 'false' end`
  }

  count(number: Fragment): Fragment {
    return this.sql`cast(${number} as text)`
  }

  text(name: string): Fragment {
    return this.quoted(JSON.stringify(name))
  }

  optional(json: Fragment): Fragment {
    return this.sql`coalesce(${json}, 'null')`
  }

  cursor(signature: string, values: readonly CursorValue[]): Fragment {
    const { sql } = this
    const items = values.flatMap(({ value }) => [sql`','`, this.optional(this.#escaped(value))])
    const list = [this.quoted(`[${JSON.stringify(signature)}`), ...items, sql`']'`]
    return this.#inQuotes(this.#base64(sql`convert_to(${this.#concatenated(list)}, 'UTF8')`))
  }

  value(field: FieldModel, column: Fragment): Fragment {
    return this.optional(this.#value(field, column))
  }

  /** JSON, or null. */
  #value(field: FieldModel, column: Fragment): Fragment {
    const { sql } = this
    const text = sql`cast(${column} as text)`
    switch (field.form) {
      case 'id':
        return field.column.storage === 'text' ? this.#escaped(text) : this.#inQuotes(text)
      case 'int':
        return this.checked(text, this.isInt(column), this.#fault(column))
      case 'float': {
        const largest = `cast('${largestFloat}' as double precision)`
        const isFinite = sql`${column} between ${sql.raw(`-${largest} and ${largest}`)}`
        const number = sql`cast(cast(${column} as double precision) as text)`
        return this.checked(number, isFinite, this.#fault(column))
      }
      case 'boolean':
        return text
      case 'enum':
        return this.#enumeration(field.enumeration as EnumModel, column)
      case 'bytes':
        return this.#inQuotes(this.#base64(column))
      case 'json':
        return this.#escaped(text)
      case 'list':
        return this.#items(field.itemForm, column)
      default:
        return this.#escaped(column)
    }
  }

  /** By halves: from left to right, each piece would copy all before it. */
  #concatenated(pieces: readonly Fragment[]): Fragment {
    const { sql } = this
    if (pieces.length <= 8) return sql`(${sql.join(pieces, sql` || `)})`
    const half = pieces.length >> 1
    return sql`(${this.#concatenated(pieces.slice(0, half))} || ${this.#concatenated(pieces.slice(half))})`
  }

  #inQuotes(text: Fragment): Fragment {
    return this.sql`'"' || ${text} || '"'`
  }

  #escaped(value: Fragment): Fragment {
    return this.sql`cast(to_json(${value}) as text)`
  }

  /** Its own text is no number. */
  #fault(column: Fragment): Fragment {
    return this.sql`cast(cast('!' || cast(${column} as text) as bigint) as text)`
  }

  #enumeration(model: EnumModel, column: Fragment): Fragment {
    const fault = this.#fault(column)
    if (!model.isPlain) return this.named(column, model, fault, JSON.stringify)
    // Names that are their values hold nothing to escape.
    const name = this.#inQuotes(this.sql`cast(${column} as text)`)
    return this.checked(name, this.isAmong(column, model), fault)
  }

  #base64(bytes: Fragment): Fragment {
    return this.sql`replace(encode(${bytes}, 'base64'), chr(10), '')`
  }

  #items(form: FieldForm | undefined, column: Fragment): Fragment {
    const { sql } = this
    const text = sql`cast(${column} as text)`
    if (form !== 'int') return text
    const large = sql`exists (select 1 from json_array_elements_text(${column}) as e(v) where not (${this.isInt(sql`cast(e.v as numeric)`)}))`
    return sql`case when ${large} then ${this.#fault(column)} else ${text} end`
  }
}
