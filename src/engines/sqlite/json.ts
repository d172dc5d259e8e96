/** Writes SQL that builds JSON in SQLite. Source: SQLite, JSON Functions. */
import { AnyJson } from '../contract/any-json.js'
import type { Connection } from './connection.js'
import { frameworkQuery } from '../contract/statement.js'
import {
  type CursorValue,
  type FieldForm,
  type JsonEnum,
  type JsonField,
  type JsonSql,
  type KeyPart,
} from '../contract/json-sql.js'
import { filled, join, literal, raw, sql, type Sql, type SqlWrapper } from '../contract/sql-text.js'
import type { Column } from '../contract/table.js'
import { storedTimestamp } from './timestamps.js'

/** Some builds of SQLite limit functions to little more than a hundred arguments. */
const maxPairs = 45

export class SqliteJson extends AnyJson implements JsonSql {
  object(pairs: readonly (readonly [string, Sql])[]): Sql {
    const first = pairs.slice(0, maxPairs)
    let object = sql`json_object(${join(first.map(([key, value]) => sql`${literal(key)}, ${value}`))})`
    for (let from = maxPairs; from < pairs.length; from += maxPairs) {
      const more = pairs.slice(from, from + maxPairs)
      const paths = join(more.map(([key, value]) => sql`${literal(`$."${key}"`)}, ${value}`))
      object = sql`json_insert(${object}, ${paths})`
    }
    return object
  }

  aggregate(object: Sql): Sql {
    return sql`json_group_array(${object})`
  }

  all(object: Sql): Sql {
    return this.aggregate(object)
  }

  objectResult(object: Sql): Sql {
    return object
  }

  boolean(test: Sql): Sql {
    return sql`json(case when ${test} then 'true' else 'false' end)`
  }

  count(number: Sql): Sql {
    return number
  }

  text(name: string): Sql {
    return literal(name)
  }

  optional(json: Sql): Sql {
    return json
  }

  cursor(signature: string, values: readonly CursorValue[]): Sql {
    const items = values.map(({ column, value }) =>
      column.isBoolean
        ? sql`case when ${value} is null then null else ${this.boolean(value)} end`
        : this.numberOf(column, this.textOf(column, value)),
    )
    return sql`filigree_base64(json_array(${join([literal(signature), ...items])}))`
  }

  globalKey(prefix: string, parts: readonly KeyPart[]): Sql {
    const values = parts.map(({ field, value }) => this.value(field, value))
    return sql`filigree_base64(${literal(prefix)} || json_array(${join(values)}))`
  }

  protected override textOf(model: Column, column: Sql): Sql {
    return model.storage === 'timestamp'
      ? filled(storedTimestamp, { c: column })
      : super.textOf(model, column)
  }

  value(field: JsonField, column: Sql): Sql {
    // Depends on the column, because SQLite may evaluate a constant even if no row needs it.
    const conversionError = sql`json('!' || ${column})`
    switch (field.form) {
      case 'id':
        return this.#id(field, column)
      case 'int':
        return this.checked(column, this.isInt(column), conversionError)
      case 'boolean':
        return sql`json(case ${column} when 1 then 'true' when 0 then 'false' end)`
      case 'enum':
        return this.#enumeration(field.enumeration as JsonEnum, column, conversionError)
      case 'bytes':
        return sql`filigree_base64(${column})`
      case 'list':
        return sql`json(${this.#items(field.itemForm, column)})`
      case 'text':
        return this.textOf(field.column, column)
      default:
        return this.numberOf(field.column, column)
    }
  }

  protected jsonType(json: Sql): Sql {
    return sql`json_type(${json})`
  }

  protected items(json: Sql, alias: string): { readonly from: Sql; readonly item: Sql } {
    return { from: sql`json_each(${json}) as ${raw(alias)}`, item: raw(`${alias}.value`) }
  }

  protected jsonAt(object: Sql, { property }: Column): Sql {
    return sql`(${object} -> ${literal(`$."${property}"`)})`
  }

  protected part(field: JsonField, object: Sql): Sql {
    const { column, form, itemForm } = field
    const json = this.jsonAt(object, column)
    const value = sql`(${object} ->> ${literal(`$."${column.property}"`)})`
    const conversionError = sql`json('!' || ${value})`
    switch (form) {
      case 'id':
        return sql`cast(${value} as text)`
      case 'int':
        return this.checked(value, this.isInt(value), conversionError)
      case 'enum':
        return this.#enumeration(field.enumeration as JsonEnum, value, conversionError)
      case 'text':
      case 'bytes':
        return this.partText(column, value, 'instr', conversionError)
      case 'json':
        return sql`(nullif(${json}, 'null') || '')`
      case 'list':
        return sql`json(${this.#items(itemForm, json)})`
      default:
        return sql`json(${json})`
    }
  }

  #id({ column: { storage }, idPrefix }: JsonField, column: Sql): Sql {
    const text = storage === 'text' ? column : sql`cast(${column} as text)`
    return idPrefix === undefined ? text : sql`filigree_base64(${literal(idPrefix)} || ${text})`
  }

  #enumeration(model: JsonEnum, column: Sql, conversionError: Sql): Sql {
    return model.isPlain
      ? this.checked(column, this.isAmong(column, model), conversionError)
      : this.named(column, model, conversionError)
  }

  #items(form: FieldForm | undefined, column: Sql): Sql {
    if (form !== 'int') return column
    const large = sql`exists (select 1 from json_each(${column}) as e where not (${this.isInt(sql`e.value`)}))`
    return sql`case when ${large} then '!' else ${column} end`
  }
}

/** Writes a double with all its digits. SQLite before 3.53 writes only 15 of them, so JavaScript writes the number. */
export const exactDouble: SqlWrapper = ['json(filigree_double(', '))']

/** Whether this version of SQLite writes doubles in JSON with all their digits. */
export function writesExactDoubles(connection: Connection): boolean {
  const sql = 'select json_array(0.1e0 + 0.2e0)'
  return connection.run(frameworkQuery(sql), [], 'first')?.[0] === JSON.stringify([0.1 + 0.2])
}
