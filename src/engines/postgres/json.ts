/**
 * SQL that writes JSON as text on PostgreSQL, piece by piece: PostgreSQL's JSON functions look up the type of each
 * value in every row, and parse their own results again. One null would make the whole text null, so no piece may be
 * null.
 * Source: PostgreSQL, JSON Functions and Operators; String Functions and Operators.
 */
import {
  AnyJson,
  type CursorValue,
  type FieldForm,
  type Fragment,
  type JsonEnum,
  type JsonField,
  type JsonSql,
} from '../contract/json-sql.js'

const largestFloat = '1.7976931348623157e308'

/** Constant JSON, or an expression that gives JSON. */
type Piece = string | Fragment

export class PostgresJson extends AnyJson implements JsonSql {
  /** The pieces of each fragment: neighbouring constants are joined to one text. */
  readonly #pieces = new WeakMap<Fragment, readonly Piece[]>()

  object(pairs: readonly (readonly [string, Fragment])[]): Fragment {
    const pieces = pairs.flatMap(([key, value], index) => [
      `${index === 0 ? '' : ','}${JSON.stringify(key)}:`,
      ...this.#piecesOf(value),
    ])
    return this.#put(['{', ...pieces, '}'])
  }

  aggregate(object: Fragment): Fragment {
    const { start, rows, end } = this.#rows(object)
    return this.sql`coalesce(${start} || ${rows} || ${end}, '[]')`
  }

  /** In separate columns, because otherwise the server would copy all of it twice to put brackets around it. */
  all(object: Fragment): Fragment {
    const { start, rows, end } = this.#rows(object)
    return this.sql`${start}, ${rows}, ${end}`
  }

  whole(object: Fragment): Fragment {
    const pieces = this.#piecesOf(object).map((piece) => this.#written(piece))
    return this.sql.join(pieces)
  }

  /** The constant start and end of the objects are put between the rows. Without rows, they are null. */
  #rows(object: Fragment): Readonly<Record<'start' | 'rows' | 'end', Fragment>> {
    const [first, ...more] = this.#piecesOf(object)
    const last = more.pop()
    const hasBoth = typeof first === 'string' && typeof last === 'string'
    const [before, each, after] = hasBoth ? [first, this.#put(more), last] : ['', object, '']
    return {
      start: this.quoted(`[${before}`),
      rows: this.sql`string_agg(${each}, ${this.quoted(`${after},${before}`)})`,
      end: this.quoted(`${after}]`),
    }
  }

  boolean(test: Fragment): Fragment {
    return this.sql`case when ${test} then 'true' else 'false' end`
  }

  count(number: Fragment): Fragment {
    return this.sql`cast(${number} as text)`
  }

  text(name: string): Fragment {
    return this.#put([JSON.stringify(name)])
  }

  optional(json: Fragment): Fragment {
    return this.sql`coalesce(${json}, 'null')`
  }

  cursor(signature: string, values: readonly CursorValue[]): Fragment {
    const { sql } = this
    const items = values.flatMap(({ column, value }) => [
      ',',
      this.optional(this.#escaped(this.textOf(column, value))),
    ])
    const list = this.#put([`[${JSON.stringify(signature)}`, ...items, ']'])
    return this.#put(['"', this.#base64(sql`convert_to(${list}, 'UTF8')`), '"'])
  }

  value(field: JsonField, column: Fragment): Fragment {
    const { form, idPrefix } = field
    if (form === 'id' && idPrefix === undefined && field.column.storage !== 'text')
      return this.#key(column)
    return this.optional(this.#value(field, column))
  }

  /** A number in quotes. Keys are never null; if one is nevertheless, the statement fails. */
  #key(column: Fragment): Fragment {
    const { sql } = this
    const text = sql`cast(${column} as text)`
    return this.#put(['"', sql`coalesce(${text}, ${this.#fault(sql`coalesce(${text}, '')`)})`, '"'])
  }

  /** JSON, or null. */
  #value(field: JsonField, column: Fragment): Fragment {
    const { sql } = this
    const text = sql`cast(${column} as text)`
    switch (field.form) {
      case 'id':
        return field.idPrefix === undefined
          ? this.#escaped(text)
          : this.#globalId(field.idPrefix, text)
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
        return this.#enumeration(field.enumeration as JsonEnum, column)
      case 'bytes':
        return this.#inQuotes(this.#base64(column))
      case 'json':
        return this.#escaped(text)
      case 'list':
        return this.#items(field.itemForm, column)
      default:
        return this.#escaped(this.textOf(field.column, column))
    }
  }

  #globalId(prefix: string, key: Fragment): Fragment {
    const text = this.sql`${this.quoted(prefix)} || ${key}`
    return this.#inQuotes(this.#base64(this.sql`convert_to(${text}, 'UTF8')`))
  }

  #piecesOf(json: Fragment): readonly Piece[] {
    return this.#pieces.get(json) ?? [json]
  }

  /** @param given the pieces in order, never null */
  #put(given: readonly Piece[]): Fragment {
    const pieces: Piece[] = []
    for (const piece of given) {
      const last = pieces.at(-1)
      if (typeof piece === 'string' && typeof last === 'string')
        pieces[pieces.length - 1] = last + piece
      else pieces.push(piece)
    }
    const put = this.#concatenated(pieces)
    this.#pieces.set(put, pieces)
    return put
  }

  #written(piece: Piece): Fragment {
    return typeof piece === 'string' ? this.quoted(piece) : piece
  }

  /** In halves: from left to right, each piece would copy all before it. */
  #concatenated(pieces: readonly Piece[]): Fragment {
    const { sql } = this
    const [first] = pieces
    if (pieces.length === 1 && typeof first === 'string')
      return sql`cast(${this.quoted(first)} as text)`
    if (pieces.length <= 8) {
      const parts = pieces.map((piece) => this.#written(piece))
      return sql`(${sql.join(parts, sql` || `)})`
    }
    const half = pieces.length >> 1
    return sql`(${this.#concatenated(pieces.slice(0, half))} || ${this.#concatenated(pieces.slice(half))})`
  }

  #inQuotes(text: Fragment): Fragment {
    return this.sql`'"' || ${text} || '"'`
  }

  #escaped(value: Fragment): Fragment {
    return this.sql`cast(to_json(${value}) as text)`
  }

  /** Makes the statement fail: the cast text is not a number. */
  #fault(column: Fragment): Fragment {
    return this.sql`cast(cast('!' || cast(${column} as text) as bigint) as text)`
  }

  #enumeration(model: JsonEnum, column: Fragment): Fragment {
    const fault = this.#fault(column)
    if (!model.isPlain) return this.named(column, model, fault, JSON.stringify)
    // Names that equal their values need no escaping.
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
