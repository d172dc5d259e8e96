/**
 * SQL that makes JSON. What a statement cannot say as graphql-js would (an Int beyond 32 bits, a number that is none, a
 * value that its enum does not have) makes the statement fail, and graphql-js tells what is wrong.
 * Sources: SQLite, JSON Functions; PostgreSQL, JSON Functions and Operators.
 */
import type { RawBuilder, Sql } from '../../records/builder.js'
import type { EnumModel, FieldForm, FieldModel } from '../records/model.js'

export type Fragment = RawBuilder<unknown>

export interface JsonSql {
  /** Keys are GraphQL names, values JSON. No pairs: `{}`. */
  object(pairs: readonly (readonly [key: string, value: Fragment])[]): Fragment
  /** The list of all rows' objects. */
  aggregate(object: Fragment): Fragment
  list(items: readonly Fragment[]): Fragment
  boolean(test: Fragment): Fragment
  /** Text of JSON as base64. */
  encoded(json: Fragment): Fragment
  /** A column as GraphQL sends it. */
  value(field: FieldModel, column: Fragment): Fragment
  text(text: string): Fragment
}

/** Functions take a hundred arguments on one engine, and few more on builds of the other. */
const mostPairs = 45

const smallestInt = -2147483648
const largestInt = 2147483647
const largestFloat = '1.7976931348623157e308'

export function createJsonSql(sql: Sql, engine: 'sqlite' | 'postgres'): JsonSql {
  return engine === 'sqlite' ? new SqliteJson(sql) : new PostgresJson(sql)
}

abstract class AnyJson {
  readonly sql: Sql

  constructor(sql: Sql) {
    this.sql = sql
  }

  text(text: string): Fragment {
    return this.sql.raw(quote(text))
  }

  pairs(pairs: readonly (readonly [string, Fragment])[]): Fragment {
    const { sql } = this
    return sql.join(pairs.map(([key, value]) => sql`${this.text(key)}, ${value}`))
  }

  /** Null or good, else a failure. Of null the test is null, so that nothing has to ask for it. */
  checked(column: Fragment, isGood: Fragment, fault: Fragment): Fragment {
    return this.sql`case when not (${isGood}) then ${fault} else ${column} end`
  }

  isInt(value: Fragment): Fragment {
    return this.sql`${value} between ${this.sql.raw(`${smallestInt} and ${largestInt}`)}`
  }

  isAmong(column: Fragment, { values }: EnumModel): Fragment {
    const literals = [...values.values()].map(literal).join(', ')
    return this.sql`${column} in (${this.sql.raw(literals)})`
  }

  /** From kept values to names; null stays null. */
  named(column: Fragment, { values }: EnumModel, fault: Fragment): Fragment {
    const cases = [...values].map(([name, value]) => `when ${literal(value)} then ${quote(name)}`)
    const { sql } = this
    return sql`case when ${column} is null then null else case ${column} ${sql.raw(cases.join(' '))} else ${fault} end end`
  }
}

/** What SQLite writes for an infinite number. Cheaper to look for in the answer than to ask of every value. */
export const sqliteInfinity = 'e+999'

class SqliteJson extends AnyJson implements JsonSql {
  object(pairs: readonly (readonly [string, Fragment])[]): Fragment {
    const { sql } = this
    let object = sql`json_object(${this.pairs(pairs.slice(0, mostPairs))})`
    for (let from = mostPairs; from < pairs.length; from += mostPairs) {
      const more = pairs.slice(from, from + mostPairs)
      const paths = sql.join(more.map(([key, value]) => sql`${this.text(`$."${key}"`)}, ${value}`))
      object = sql`json_insert(${object}, ${paths})`
    }
    return object
  }

  aggregate(object: Fragment): Fragment {
    return this.sql`json_group_array(${object})`
  }

  list(items: readonly Fragment[]): Fragment {
    return this.sql`json_array(${this.sql.join(items)})`
  }

  boolean(test: Fragment): Fragment {
    return this.sql`json(case when ${test} then 'true' else 'false' end)`
  }

  encoded(json: Fragment): Fragment {
    return this.sql`filigree_base64(${json})`
  }

  value(field: FieldModel, column: Fragment): Fragment {
    const { sql } = this
    // Not a constant, which might be evaluated though no row needs it.
    const fault = sql`json('!' || ${column})`
    switch (field.form) {
      case 'id':
        return field.column.storage === 'text' ? column : sql`cast(${column} as text)`
      case 'int':
        return this.checked(column, this.isInt(column), fault)
      case 'boolean':
        return sql`json(case ${column} when 1 then 'true' when 0 then 'false' end)`
      case 'enum':
        return this.#enumeration(field.enumeration as EnumModel, column, fault)
      case 'bytes':
        return sql`filigree_base64(${column})`
      case 'list':
        return sql`json(${this.#items(field.itemForm, column)})`
      default:
        return column
    }
  }

  #enumeration(model: EnumModel, column: Fragment, fault: Fragment): Fragment {
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

class PostgresJson extends AnyJson implements JsonSql {
  object(pairs: readonly (readonly [string, Fragment])[]): Fragment {
    const { sql } = this
    if (pairs.length <= mostPairs) return sql`json_build_object(${this.pairs(pairs)})`
    const parts: Fragment[] = []
    for (let from = 0; from < pairs.length; from += mostPairs) {
      const part = sql`cast(json_build_object(${this.pairs(pairs.slice(from, from + mostPairs))}) as text)`
      parts.push(sql`substr(left(${part}, -1), 2)`)
    }
    return sql`cast('{' || ${sql.join(parts, sql` || ',' || `)} || '}' as json)`
  }

  aggregate(object: Fragment): Fragment {
    return this.sql`coalesce(json_agg(${object}), cast('[]' as json))`
  }

  list(items: readonly Fragment[]): Fragment {
    return this.sql`json_build_array(${this.sql.join(items)})`
  }

  boolean(test: Fragment): Fragment {
    return this.sql`(${test})`
  }

  encoded(json: Fragment): Fragment {
    return this.#base64(this.sql`convert_to(cast(${json} as text), 'UTF8')`)
  }

  value(field: FieldModel, column: Fragment): Fragment {
    const { sql } = this
    switch (field.form) {
      case 'id':
        return sql`cast(${column} as text)`
      case 'int':
        return this.checked(column, this.isInt(column), this.#fault(column, 'bigint'))
      case 'float': {
        const largest = `cast('${largestFloat}' as double precision)`
        const isFinite = sql`${column} between ${sql.raw(`-${largest} and ${largest}`)}`
        return this.checked(column, isFinite, this.#fault(column, 'double precision'))
      }
      case 'enum':
        return this.#enumeration(field.enumeration as EnumModel, column, field)
      case 'bytes':
        return this.#base64(column)
      case 'json':
        return sql`cast(${column} as text)`
      case 'list':
        return this.#items(field.itemForm, column)
      default:
        return column
    }
  }

  /** Its own text is no number. */
  #fault(column: Fragment, type: string): Fragment {
    const { sql } = this
    const number = sql`cast('!' || cast(${column} as text) as bigint)`
    return sql`cast(cast(${number} as text) as ${sql.raw(type)})`
  }

  #enumeration(model: EnumModel, column: Fragment, { column: { storage } }: FieldModel): Fragment {
    const type = storage === 'real' ? 'double precision' : storage === 'integer' ? 'bigint' : 'text'
    return model.isPlain
      ? this.checked(column, this.isAmong(column, model), this.#fault(column, type))
      : this.named(column, model, this.#fault(column, 'text'))
  }

  #base64(bytes: Fragment): Fragment {
    return this.sql`replace(encode(${bytes}, 'base64'), chr(10), '')`
  }

  #items(form: FieldForm | undefined, column: Fragment): Fragment {
    if (form !== 'int') return column
    const { sql } = this
    const large = sql`exists (select 1 from json_array_elements_text(${column}) as e(v) where not (${this.isInt(sql`cast(e.v as numeric)`)}))`
    return sql`case when ${large} then ${this.#fault(column, 'json')} else ${column} end`
  }
}

/** GraphQL names need no quoting; values of enums are the developer's. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

function literal(value: string | number): string {
  return typeof value === 'number' ? String(value) : quote(value)
}
