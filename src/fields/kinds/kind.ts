/** What a kind of field is: one entry of the table in `table.ts`, one file each. Source: public face, Records. */

/** Stands between kinds and databases: a database says how it keeps these six, a kind says which of them it is. */
export type StorageClass = 'integer' | 'real' | 'text' | 'moment' | 'bytes' | 'json'

/** The scalar names of the specification's table "Field type mapping". */
export type GraphqlScalar = 'ID' | 'Int' | 'Float' | 'String' | 'Boolean'

/** A JSON Schema (2020-12) fragment, for documentation only: nothing is checked with it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * JavaScript over one variable `v`, as an expression to be woven into compiled checks, or a function where an
 * expression would be too small a space.
 */
export type Code<T> = string | ((value: unknown) => T)

export interface Kind {
  readonly storage: StorageClass
  readonly graphql: GraphqlScalar
  readonly schema: JsonSchema
  /** Completes "price must be …": `a number`. */
  readonly noun: string
  /** Whether a JSON value (never null or undefined) is of this kind. Nothing is converted: `"5"` is no number. */
  readonly test: Code<boolean>
  /** From a tested JSON value to the property's value; absent where they are the same. */
  readonly read?: Code<unknown>
  /** From the property's value to JSON; absent where they are the same. */
  readonly write?: (value: unknown) => unknown
  /** From the text of a query, path or form to the JSON value, `undefined` when it is written wrong. */
  readonly fromText: (text: string) => unknown
  /** The rules about values that mean something for this kind; others are refused where they are declared. */
  readonly rules: readonly ValueRule[]
}

/** The rules about a value itself. In a list they hold for each item; `minItems` and `maxItems` are the list's own. */
export type ValueRule = 'min' | 'max' | 'minLength' | 'maxLength' | 'pattern' | 'format' | 'oneOf'
