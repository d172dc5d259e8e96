/**
 * A kind defines how a field is checked, stored, filtered, shown in GraphQL and documented: one entry of the table in
 * `table.ts`. Source: public API, Records.
 */

/** How values are stored. Each kind has one of these classes, and each engine has a column type for each class. */
export type StorageClass =
  | 'integer'
  /** Whole numbers of 64 bits, as text. */
  | 'wide'
  | 'real'
  /** Exact numbers of the kind's `digits`, as text with their full scale. */
  | 'decimal'
  | 'text'
  /** `2026-11-20T10:00:00.000Z` */
  | 'timestamp'
  /** `2026-11-20` */
  | 'date'
  /** `10:30:00` */
  | 'time'
  | 'bytes'
  | 'json'

/** The maximum number of digits of a decimal, in total and after the decimal point. */
export interface Digits {
  readonly precision: number
  readonly scale: number
}

/** The scalar names of the specification's table "Field type mapping". */
export type GraphqlScalar = 'ID' | 'Int' | 'Float' | 'String' | 'Boolean'

/** How GraphQL shows a kind. */
export interface GraphqlForm {
  /** The type of the field in object types, inputs and filters. */
  readonly type: GraphqlScalar
  /** The filter's name: `Float` is the input type `FloatFilter`. Kinds with the same filter have the same operators. */
  readonly filter: string
}

/** Which comparisons a filter allows. The table of operators says which of these each operator accepts. */
export type Comparison =
  /** Only with null. */
  | 'nothing'
  /** Equal or not equal. */
  | 'equality'
  /** Also smaller and larger. Rows can be sorted by the field. */
  | 'order'
  /** Also patterns. */
  | 'text'

/** A JSON Schema (2020-12) fragment, for documentation only: nothing is checked with it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * JavaScript over one variable `v`, as an expression for compiled checks, or as a function if an expression would not
 * be enough.
 */
export type Code<T> = string | ((value: unknown) => T)

/**
 * A value has three forms: in JSON, in the property of an instance, and in the database. `read` and `write` lead from
 * JSON to the property and back, `encode` and `decode` from the property to the database and back.
 */
export interface Kind {
  readonly storage: StorageClass
  /** Of the storage class `decimal`. */
  readonly digits?: Digits
  readonly compares: Comparison
  readonly graphql: GraphqlForm
  readonly schema: JsonSchema
  /** Completes "price must be …": `a number`. */
  readonly label: string
  /** Whether a JSON value (never null or undefined) is of this kind. Nothing is converted: `"5"` is not a number. */
  readonly test: Code<boolean>
  /** From a tested JSON value to the property's value. Absent if both are the same. */
  readonly read?: Code<unknown>
  /** From the property's value (never null or undefined) to JSON. Absent if both are the same. */
  readonly write?: (value: unknown) => unknown
  /**
   * From a program's value (never null or undefined) to its JSON form: a Date for a `date`, a number for a `decimal`.
   * Other values pass unchanged. Absent if `write` does it, or if a program has only one form.
   */
  readonly toOutput?: (value: unknown) => unknown
  /** `toOutput` changes only values of this type, so it is not called for other values. */
  readonly outputOnly?: 'bigint'
  /**
   * Whether a program's value is already a property's value. Absent if the JSON form and the property's form cannot be
   * distinguished.
   */
  readonly isPropertyValue?: (value: unknown) => boolean
  /** From the property's value to the stored value. Absent if both are the same. */
  readonly encode?: (value: unknown) => unknown
  /** From the stored value to the property's value. Absent if both are the same. */
  readonly decode?: (value: unknown) => unknown
  /**
   * SQL over `v` that writes a stored value as JSON text, for columns that need a conversion. It must work in every
   * database. Without it GraphQL reads such fields by resolvers.
   */
  readonly sqlText?: string
  /** From the text of a query, path or form to the JSON value; `undefined` for invalid text. */
  readonly fromText: (text: string) => unknown
  /** The likely mistake in an invalid text, appended to "must be …; ". */
  readonly hint?: (text: string) => string | undefined
  /**
   * Converts values to a form that `<` and `===` can compare, for `min`, `max` and `oneOf`. Absent if they can compare the
   * values themselves.
   */
  readonly comparable?: (value: unknown) => unknown
  /** A pattern of all spellings of the same value, for documentation. Absent if there is only one spelling. */
  readonly spellings?: (text: string) => string
  /** What `minLength` and `maxLength` count. Default characters. */
  readonly measure?: 'characters' | 'bytes'
  /** The value of `default: 'now'` for a timestamp in UTC. Absent if the kind has no such value. */
  readonly now?: (timestamp: string) => unknown
  /** The rules about values that this kind supports. Other rules are refused in declarations. */
  readonly rules: readonly ValueRule[]
  /** Rules that a field of this kind must have. */
  readonly needs?: readonly ValueRule[]
  /** Returns the kind of a field with these rules, if they change the kind. */
  readonly refine?: (rules: KindRules) => Kind
  /** How pages edit, filter, show and chart the values, where it differs from the defaults of `presentationOf`. */
  readonly presentation?: Partial<Presentation>
}

/**
 * How pages edit, filter, show and chart the values of a kind. The admin page gets it with its schema, and knows no kinds. The
 * default of each member fits the JSON type and the comparisons of the kind.
 */
export interface Presentation {
  /**
   * The input of a form: one line of text, several lines, JSON text, a whole number, a number, yes or no, a date, a time of
   * day, a date with a time, or a file, which is sent as base64.
   */
  readonly control:
    | 'line'
    | 'lines'
    | 'json'
    | 'integer'
    | 'decimal'
    | 'checkbox'
    | 'date'
    | 'time'
    | 'datetime'
    | 'file'
  /** The JSON value that the input sends. `timestamp` is text such as `2026-11-20T10:00:00.000Z`. */
  readonly type: 'text' | 'integer' | 'number' | 'boolean' | 'timestamp' | 'json'
  /** True if every text is a value, the empty text too. Default: true if the kind compares as text. */
  readonly isFreeText: boolean
  /** Completes "must be …". Default: the label of the kind. */
  readonly label: string
  /** The source of a regular expression for the text of a value. Default: the pattern of the JSON Schema. */
  readonly pattern: string | undefined
  /** How a value is compared with `min` and `max`. */
  readonly comparison: 'text' | 'number' | 'time'
  /** What `minLength` and `maxLength` count. */
  readonly measure: 'characters' | 'bytes'
  /** The filter of a list: a part of the text, the value, a range of values, yes or no, or none. */
  readonly filter: 'contains' | 'equals' | 'range' | 'choice' | 'none'
  /** How lists and histories write a value. `size` is the number of bytes of a file. */
  readonly format: 'text' | 'decimal' | 'json' | 'date' | 'datetime' | 'size'
  /** What charts do with the field: group rows by it, group them by periods, also add up its numbers, or nothing. */
  readonly chart: 'groups' | 'periods' | 'numbers' | 'none'
}

/** Rules about a value. In a list they apply to each item; `minItems` and `maxItems` apply to the list. */
export type ValueRule =
  'min' | 'max' | 'minLength' | 'maxLength' | 'pattern' | 'format' | 'oneOf' | TextForm

/** Changes to a text before its rules are checked. */
export type TextForm = 'normalize' | 'collapse' | 'trim' | 'lowercase' | 'uppercase'

/** The rules that, together with the kind's name, determine the kind. */
export interface KindRules {
  readonly key?: unknown
  readonly precision?: unknown
  readonly scale?: unknown
}
