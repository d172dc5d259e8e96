/**
 * SQL that writes JSON as text on PostgreSQL, piece by piece: PostgreSQL's JSON functions look up the type of each
 * value in every row, and parse their own results again. One null would make the whole text null, so no piece may be
 * null. Source: PostgreSQL, JSON Functions and Operators; String Functions and Operators.
 */
import {
  type CursorValue,
  type FieldForm,
  type JsonEnum,
  type JsonField,
  type JsonParts,
  type JsonSql,
  type KeyPart,
} from '../contract/json-sql.js'
import { AnyJson } from '../contract/any-json.js'
import type { Column } from '../contract/table.js'
import { arrayJson } from './declared-types.js'
import { join, literal, raw, sql, wrap, type Sql } from '../contract/sql-text.js'

const mark: Piece = { json: '"' }
const largestFloat = '1.7976931348623157e308'

/** Constant JSON, or an expression that gives JSON. */
type Piece = { readonly json: string } | Sql

export class PostgresJson extends AnyJson implements JsonSql {
  /** The pieces of each fragment: neighbouring constants are joined to one text. */
  readonly #pieces = new Map<Sql, readonly Piece[]>()

  object(pairs: readonly (readonly [string, Sql])[]): Sql {
    const pieces = pairs.flatMap(([key, value], index) => [
      { json: `${index === 0 ? '' : ','}${JSON.stringify(key)}:` },
      ...this.#piecesOf(value),
    ])
    return this.#put([{ json: '{' }, ...pieces, { json: '}' }])
  }

  aggregate(object: Sql): Sql {
    const { start, rows, end } = this.#rows(object)
    return sql`coalesce(${start} || ${rows} || ${end}, '[]')`
  }

  /** In separate columns, because otherwise the server would copy all of it twice to put brackets around it. */
  all(object: Sql): Sql {
    const { start, rows, end } = this.#rows(object)
    return sql`${start}, ${rows}, ${end}`
  }

  objectResult(object: Sql): Sql {
    const pieces = this.#piecesOf(object).map((piece) => this.#written(piece))
    return join(pieces)
  }

  /** The constant start and end of the objects are put between the rows. Without rows, they are null. */
  #rows(object: Sql): Readonly<Record<'start' | 'rows' | 'end', Sql>> {
    const [first, ...more] = this.#piecesOf(object)
    const last = more.pop()
    const hasBoth = typeof first === 'object' && typeof last === 'object'
    const [before, each, after] = hasBoth
      ? [first.json, this.#put(more), last.json]
      : ['', object, '']
    return {
      start: literal(`[${before}`),
      rows: sql`string_agg(${each}, ${literal(`${after},${before}`)})`,
      end: literal(`${after}]`),
    }
  }

  boolean(test: Sql): Sql {
    return sql`case when ${test} then 'true' else 'false' end`
  }

  count(number: Sql): Sql {
    return sql`cast(${number} as text)`
  }

  text(name: string): Sql {
    return this.#put([{ json: JSON.stringify(name) }])
  }

  optional(json: Sql): Sql {
    return sql`coalesce(${json}, 'null')`
  }

  cursor(signature: string, values: readonly CursorValue[]): Sql {
    const items = values.flatMap(({ column, value }) => [
      { json: ',' },
      this.optional(this.#escaped(this.textOf(column, value))),
    ])
    const list = this.#put([{ json: `[${JSON.stringify(signature)}` }, ...items, { json: ']' }])
    return this.#put([mark, this.#base64(sql`convert_to(${list}, 'UTF8')`), mark])
  }

  globalKey(prefix: string, parts: readonly KeyPart[]): Sql {
    const items = parts.flatMap(({ field, value }, index) => [
      { json: index === 0 ? '' : ',' },
      this.value(field, value),
    ])
    const text = this.#put([{ json: `${prefix}[` }, ...items, { json: ']' }])
    return this.#put([mark, this.#base64(sql`convert_to(${text}, 'UTF8')`), mark])
  }

  value(field: JsonField, column: Sql): Sql {
    const { form, idPrefix, column: of } = field
    if (form === 'id' && idPrefix === undefined && of.isKey && of.storage !== 'text')
      return this.#key(column)
    return this.optional(this.#value(field, column))
  }

  /** A number in quotes. Keys are never null; if one is nevertheless, the statement fails. */
  #key(column: Sql): Sql {
    const text = sql`cast(${column} as text)`
    return this.#put([
      mark,
      sql`coalesce(${text}, ${this.#failure(sql`coalesce(${text}, '')`)})`,
      mark,
    ])
  }

  /** JSON, or null. */
  #value(field: JsonField, column: Sql): Sql {
    const text = sql`cast(${column} as text)`
    const { column: of } = field
    switch (field.form) {
      case 'id':
        return field.idPrefix === undefined
          ? this.#escaped(text)
          : this.#globalId(field.idPrefix, text)
      case 'int':
        return this.checked(text, this.isInt(column), this.#failure(column))
      case 'float': {
        const largest = `cast('${largestFloat}' as double precision)`
        const isFinite = sql`${column} between ${raw(`-${largest} and ${largest}`)}`
        const number = sql`cast(cast(${column} as double precision) as text)`
        return this.checked(number, isFinite, this.#failure(column))
      }
      case 'integer':
      case 'boolean':
        return text
      case 'enum':
        return this.#enumeration(field.enumeration as JsonEnum, column)
      case 'bytes':
        return this.#inQuotes(this.#base64(column))
      case 'json':
        return this.#escaped(text)
      case 'list':
        return this.#items(field.itemForm, of.isArray ? wrap(arrayJson(of), column) : column)
      default:
        return this.#escaped(this.textOf(field.column, column))
    }
  }

  /** A table of another program may contain `jsonb`. */
  override parts(json: Sql, parts: JsonParts, depth = 1): Sql {
    return super.parts(depth === 1 ? sql`cast(${json} as json)` : json, parts, depth)
  }

  protected jsonType(json: Sql): Sql {
    return sql`json_typeof(${json})`
  }

  protected items(json: Sql, alias: string): { readonly from: Sql; readonly item: Sql } {
    return {
      from: sql`json_array_elements(${json}) as ${raw(alias)}(v)`,
      item: raw(`${alias}.v`),
    }
  }

  protected jsonAt(object: Sql, { property }: Column): Sql {
    return sql`(${object} -> ${literal(property)})`
  }

  protected part(field: JsonField, object: Sql): Sql {
    return this.optional(this.#part(field, object))
  }

  /** JSON, or null. */
  #part({ column, form, itemForm, enumeration }: JsonField, object: Sql): Sql {
    const value = this.jsonAt(object, column)
    const json = sql`cast(${value} as text)`
    const text = sql`(${object} ->> ${literal(column.property)})`
    const number = sql`cast(${text} as numeric)`
    switch (form) {
      case 'id':
        return this.#escaped(text)
      case 'int':
        return this.checked(json, this.isInt(number), this.#failure(text))
      case 'enum':
        return this.#enumeration(
          enumeration as JsonEnum,
          column.field.entry.storage === 'integer' ? number : text,
        )
      case 'text':
      case 'bytes':
        return this.#escaped(this.partText(column, text, 'strpos', this.#failure(text)))
      case 'json':
        return this.#escaped(sql`nullif(${json}, 'null')`)
      case 'list':
        return sql`case when ${this.jsonType(value)} = 'array' then ${this.#items(itemForm, value)} end`
      default:
        return json
    }
  }

  #globalId(prefix: string, key: Sql): Sql {
    const text = sql`${literal(prefix)} || ${key}`
    return this.#inQuotes(this.#base64(sql`convert_to(${text}, 'UTF8')`))
  }

  #piecesOf(json: Sql): readonly Piece[] {
    return this.#pieces.get(json) ?? [json]
  }

  /** @param input the pieces in order, never null */
  #put(input: readonly Piece[]): Sql {
    const pieces: Piece[] = []
    for (const piece of input) {
      const last = pieces.at(-1)
      if (typeof piece === 'object' && typeof last === 'object')
        pieces[pieces.length - 1] = { json: last.json + piece.json }
      else pieces.push(piece)
    }
    const put = this.#concatenated(pieces)
    this.#pieces.set(put, pieces)
    return put
  }

  #written(piece: Piece): Sql {
    return typeof piece === 'object' ? literal(piece.json) : piece
  }

  /** In halves: from left to right, each piece would copy all before it. */
  #concatenated(pieces: readonly Piece[]): Sql {
    const [first] = pieces
    if (pieces.length === 1 && typeof first === 'object')
      return sql`cast(${literal(first.json)} as text)`
    if (pieces.length <= 8) {
      const parts = pieces.map((piece) => this.#written(piece))
      return sql`(${join(parts, ' || ')})`
    }
    const half = pieces.length >> 1
    return sql`(${this.#concatenated(pieces.slice(0, half))} || ${this.#concatenated(pieces.slice(half))})`
  }

  #inQuotes(text: Sql): Sql {
    return sql`'"' || ${text} || '"'`
  }

  #escaped(value: Sql): Sql {
    return sql`cast(to_json(${value}) as text)`
  }

  /** Makes the statement fail: the cast text is not a number. */
  #failure(column: Sql): Sql {
    return sql`cast(cast('!' || cast(${column} as text) as bigint) as text)`
  }

  #enumeration(model: JsonEnum, column: Sql): Sql {
    const failure = this.#failure(column)
    if (!model.isPlain) return this.named(column, model, failure, JSON.stringify)
    // Names that equal their values need no escaping.
    const name = this.#inQuotes(sql`cast(${column} as text)`)
    return this.checked(name, this.isAmong(column, model), failure)
  }

  #base64(bytes: Sql): Sql {
    return sql`replace(encode(${bytes}, 'base64'), chr(10), '')`
  }

  #items(form: FieldForm | undefined, column: Sql): Sql {
    const text = sql`cast(${column} as text)`
    if (form !== 'int') return text
    const large = sql`exists (select 1 from json_array_elements_text(cast(${column} as json)) as e(v) where not (${this.isInt(sql`cast(e.v as numeric)`)}))`
    return sql`case when ${large} then ${this.#failure(column)} else ${text} end`
  }
}
