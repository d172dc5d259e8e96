/**
 * SQL that makes JSON. Values that GraphQL cannot express (an Int beyond 32 bits, a number that is not finite, a value
 * that is not in its enum, a key that is null) make the statement fail as `inexpressible`: then, and for no other
 * reason, graphql-js runs the query again and reports the error.
 */
import type { Column } from './table.js'
import type { Row } from './runner.js'
import type { Sql, SqlWrapper } from './sql-text.js'

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
  /** A JSON value, as its text. */
  | 'json'
  /** An object of a nested class, or a list of them, of which `JsonParts` are selected. */
  | 'object'
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
  /** For the global id of a key of several columns: these columns, in order. */
  readonly keyParts?: readonly JsonField[] | undefined
}

/** The selected parts of an object of a nested class, or of a list of such objects. */
export interface JsonParts {
  readonly isList: boolean
  readonly entries: readonly JsonPart[]
}

/** One key of the result and its value. */
export type JsonPart =
  /** A constant text. */
  | { readonly kind: 'name'; readonly key: string; readonly name: string }
  /** The column describes the field of the nested class. */
  | { readonly kind: 'column'; readonly key: string; readonly field: JsonField }
  | NestedParts

/** A field with a nested class. */
export interface NestedParts {
  readonly kind: 'nested'
  readonly key: string
  readonly column: Column
  readonly parts: JsonParts
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
  /** The base64 of a key of several columns: the prefix, and the JSON list of their values. */
  globalKey(prefix: string, parts: readonly KeyPart[]): Sql
  /** A column's value as GraphQL sends it. */
  value(field: JsonField, column: Sql): Sql
  /** The selected parts of the value of a column with a nested class. */
  parts(column: Sql, parts: JsonParts): Sql
}

/** One column of a key of several columns. */
export interface KeyPart {
  readonly field: JsonField
  readonly value: Sql
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
