/** Writes the SQL that makes JSON on SQLite. Source: SQLite, JSON Functions. */
import {
  AnyJson,
  type CursorValue,
  type FieldForm,
  type Fragment,
  type JsonEnum,
  type JsonField,
  type JsonSql,
} from '../contract/json-sql.js'

/** On some builds functions accept little more than a hundred arguments. */
const mostPairs = 45

export class SqliteJson extends AnyJson implements JsonSql {
  object(pairs: readonly (readonly [string, Fragment])[]): Fragment {
    const { sql } = this
    const first = pairs.slice(0, mostPairs)
    let object = sql`json_object(${sql.join(first.map(([key, value]) => sql`${this.quoted(key)}, ${value}`))})`
    for (let from = mostPairs; from < pairs.length; from += mostPairs) {
      const more = pairs.slice(from, from + mostPairs)
      const paths = sql.join(
        more.map(([key, value]) => sql`${this.quoted(`$."${key}"`)}, ${value}`),
      )
      object = sql`json_insert(${object}, ${paths})`
    }
    return object
  }

  aggregate(object: Fragment): Fragment {
    return this.sql`json_group_array(${object})`
  }

  all(object: Fragment): Fragment {
    return this.aggregate(object)
  }

  whole(object: Fragment): Fragment {
    return object
  }

  boolean(test: Fragment): Fragment {
    return this.sql`json(case when ${test} then 'true' else 'false' end)`
  }

  count(number: Fragment): Fragment {
    return number
  }

  text(name: string): Fragment {
    return this.quoted(name)
  }

  optional(json: Fragment): Fragment {
    return json
  }

  cursor(signature: string, values: readonly CursorValue[]): Fragment {
    const { sql } = this
    const items = values.map(({ column, value }) =>
      column.isBoolean
        ? sql`case when ${value} is null then null else ${this.boolean(value)} end`
        : this.numberOf(column, this.textOf(column, value)),
    )
    return sql`filigree_base64(json_array(${sql.join([this.quoted(signature), ...items])}))`
  }

  value(field: JsonField, column: Fragment): Fragment {
    const { sql } = this
    // Not a constant, which might be evaluated even if no row needs it.
    const fault = sql`json('!' || ${column})`
    switch (field.form) {
      case 'id':
        return this.#id(field, column)
      case 'int':
        return this.checked(column, this.isInt(column), fault)
      case 'boolean':
        return sql`json(case ${column} when 1 then 'true' when 0 then 'false' end)`
      case 'enum':
        return this.#enumeration(field.enumeration as JsonEnum, column, fault)
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

  #id({ column: { storage }, idPrefix }: JsonField, column: Fragment): Fragment {
    const { sql } = this
    const text = storage === 'text' ? column : sql`cast(${column} as text)`
    return idPrefix === undefined ? text : sql`filigree_base64(${this.quoted(idPrefix)} || ${text})`
  }

  #enumeration(model: JsonEnum, column: Fragment, fault: Fragment): Fragment {
    return model.isPlain
      ? this.checked(column, this.isAmong(column, model), fault)
      : this.named(column, model, fault)
  }

  #items(form: FieldForm | undefined, column: Fragment): Fragment {
    if (form !== 'int') return column
    const { sql } = this
    const large = sql`exists (select 1 from json_each(${column}) as e where not (${this.isInt(sql`e.value`)}))`
    return sql`case when ${large} then '!' else ${column} end`
  }
}
