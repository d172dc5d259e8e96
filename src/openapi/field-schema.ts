/**
 * Converts a field of a class to JSON Schema (2020-12, which OpenAPI 3.1 uses). Source: decisions, OpenAPI.
 */
import type { SchemaObject } from 'openapi3-ts/oas31'
import { isCheckbox, isEmptyAbsent } from '../fields/compile-text.js'
import { formats } from '../fields/formats.js'
import { type FieldRules, describeWriteRule } from '../fields/rules.js'
import type { ShapeField } from '../fields/shape.js'
import type { Class } from '../metadata/class.js'
import { addConstraintSchemas, schemaFromConstraints } from './constraint-schema.js'
import { type SchemaOrReference, toPlainJson, portablePattern } from './json-schema.js'

export type { SchemaOrReference } from './json-schema.js'

/**
 * `@Field('string', { maxLength: 80, nullable: true })` → `{ type: ['string', 'null'], maxLength: 80 }`.
 *
 * @param refer returns the schema of a nested class, usually a reference
 */
export function fieldSchema(
  field: ShapeField,
  refer: (type: Class) => SchemaOrReference,
): SchemaOrReference {
  const base =
    field.declared === undefined
      ? schemaFromConstraints(field, (nested) => refer(nested()))
      : withoutConvertedKeywords(addConstraintSchemas(declaredSchema(field, refer), field), field)
  const schema = field.nullable ? orNull(base) : base
  return { ...schema, ...annotations(field) }
}

/**
 * Removes keywords that are checked after a conversion of the text (trim, case): the text as sent may be valid although
 * it violates them.
 */
function withoutConvertedKeywords(
  schema: SchemaOrReference,
  { declared = {}, list }: ShapeField,
): SchemaOrReference {
  const shortens = declared.trim === true || declared.collapse === true
  const folds = declared.lowercase === true || declared.uppercase === true
  const composes = declared.normalize !== undefined
  if (!shortens && !folds && !composes) return schema
  const keywords = ['pattern', 'allOf', 'format', 'enum']
  if (shortens || composes) keywords.push('maxLength')
  if (folds || composes) keywords.push('minLength')
  const drop = (one: SchemaOrReference): SchemaOrReference =>
    Object.fromEntries(Object.entries(one).filter(([word]) => !keywords.includes(word)))
  if (list && 'items' in schema)
    return { ...schema, items: drop(schema.items as SchemaOrReference) }
  return drop(schema)
}

/** A field's schema in a query, where values are text: booleans may also be written as a digit. */
export function inText(field: ShapeField, schema: SchemaOrReference): SchemaOrReference {
  return isBoolean(field) ? withTexts(schema, [digitOf(field.declared)]) : schema
}

/** A field's schema in a form, which also sends `on` for a checkbox, and empty values for missing fields. */
export function inForm(field: ShapeField, schema: SchemaOrReference): SchemaOrReference {
  const texts: SchemaOrReference[] = []
  if (isBoolean(field)) {
    texts.push(digitOf(field.declared))
    if (isCheckbox(field) && allows(field.declared, true)) texts.push(textOf('on'))
  }
  if (isEmptyAbsent(field)) texts.push(textOf(''))
  return texts.length === 0 ? schema : withTexts(schema, texts)
}

function isBoolean({ kind, nested }: ShapeField): boolean {
  return kind === 'boolean' && nested === undefined
}

function textOf(text: string): SchemaOrReference {
  return { type: 'string', enum: [text] }
}

function withTexts(
  schema: SchemaOrReference,
  texts: readonly SchemaOrReference[],
): SchemaOrReference {
  if ('type' in schema && schema.type === 'array' && schema.items !== undefined) {
    return { ...schema, items: { anyOf: [schema.items, ...texts] } }
  }
  const entries = Object.entries(schema)
  const value = Object.fromEntries(entries.filter(([word]) => !annotating.has(word)))
  const annotated = Object.fromEntries(entries.filter(([word]) => annotating.has(word)))
  return { anyOf: [value, ...texts], ...annotated }
}

const annotating: ReadonlySet<string> = new Set([
  'title',
  'description',
  'default',
  'readOnly',
  'examples',
])

/** `1` is true and `0` false, where that is allowed. */
function digitOf(rules: Readonly<FieldRules> | undefined): SchemaOrReference {
  return { type: 'integer', enum: [0, 1].filter((digit) => allows(rules, digit === 1)) }
}

function allows({ oneOf = [true, false] }: Readonly<FieldRules> = {}, value: boolean): boolean {
  return oneOf.includes(value)
}

/** The schema of a field with `@Field`, without null. */
function declaredSchema(
  field: ShapeField,
  refer: (type: Class) => SchemaOrReference,
): SchemaOrReference {
  const single = field.nested === undefined ? valueSchema(field) : refer(field.nested())
  return field.list ? listOf(single, field.declared) : single
}

/** The schema of a single value, or of one item of a list. */
function valueSchema({ entry, declared: rules = {}, kind }: ShapeField): SchemaObject {
  const schema: SchemaObject = { ...entry.schema }
  if (typeof rules.min === 'number') schema.minimum = rules.min
  if (typeof rules.max === 'number') schema.maximum = rules.max
  const size = kind === 'blob' ? base64Length : (length: number) => length
  if (rules.minLength !== undefined) schema.minLength = size(rules.minLength)
  if (rules.maxLength !== undefined) schema.maxLength = size(rules.maxLength)
  if (rules.format !== undefined && Object.hasOwn(formats, rules.format)) {
    Object.assign(schema, formats[rules.format].schema)
  }
  const pattern = portablePattern(rules.pattern)
  if (pattern !== undefined) Object.assign(schema, withPattern(schema, pattern))
  if (rules.oneOf !== undefined) Object.assign(schema, oneOfSchema(rules.oneOf, entry))
  return schema
}

/** The list of allowed values, or a pattern if each can be written in several ways. */
function oneOfSchema(values: readonly unknown[], { spellings }: ShapeField['entry']): SchemaObject {
  if (spellings === undefined) return { enum: [...values] }
  return { pattern: `^(?:${values.map((value) => spellings(String(value))).join('|')})$` }
}

/** Adds a pattern to the one that the kind or the format may already have. */
function withPattern(schema: SchemaObject, pattern: string): SchemaObject {
  return schema.pattern === undefined ? { pattern } : { allOf: [{ pattern }] }
}

/** The length of the padded base64 text of so many bytes. */
function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3)
}

/** Keywords that do not apply to null: with `type: [..., 'null']` they still allow it. */
const typedKeywords: ReadonlySet<string> = new Set(
  `type minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format contentEncoding
  items minItems maxItems uniqueItems properties required additionalProperties minProperties enum`.split(
    /\s+/,
  ),
)

/** Allows null: by `type: ['string', 'null']`, or by `anyOf` if other keywords would refuse it. */
export function orNull(schema: SchemaOrReference): SchemaOrReference {
  if (Object.keys(schema).length === 0) return schema
  const isPlain = Object.keys(schema).every((word) => typedKeywords.has(word))
  if ('$ref' in schema || schema.type === undefined || !isPlain) {
    return { anyOf: [schema, { type: 'null' }] }
  }
  const types = [schema.type].flat()
  const nullable: SchemaObject = { ...schema, type: [...types, 'null'] }
  if (nullable.enum !== undefined) nullable.enum = [...(nullable.enum as unknown[]), null]
  return nullable
}

export function listOf(
  items: SchemaOrReference,
  rules: Pick<FieldRules, 'minItems' | 'maxItems'> = {},
): SchemaObject {
  return {
    type: 'array',
    items,
    ...(rules.minItems === undefined ? {} : { minItems: rules.minItems }),
    ...(rules.maxItems === undefined ? {} : { maxItems: rules.maxItems }),
  }
}

function annotations({ rules, readOnly, kind, entry }: ShapeField): SchemaObject {
  const schema: SchemaObject = rules.label === undefined ? {} : { title: rules.label }
  const description = describe(rules, entry)
  if (description !== '') schema.description = description
  if (readOnly) schema.readOnly = true
  const isCurrentTime = kind === 'datetime' && rules.default === 'now'
  if (typeof rules.default !== 'function' && !isCurrentTime) {
    const value = toPlainJson(rules.default)
    if (value !== undefined) schema.default = value
  }
  const example = toPlainJson(rules.example)
  if (example !== undefined) schema.examples = [example]
  return schema
}

/** The description, including rules that JSON Schema cannot express. */
function describe(
  { description, min, max, pattern, oneOf, labels, writes }: Readonly<FieldRules>,
  { storage, spellings }: ShapeField['entry'],
): string {
  const isTimestamp = storage === 'timestamp'
  const parts = description === undefined ? [] : [description]
  if (typeof min === 'string') parts.push(`${isTimestamp ? 'Not before' : 'At least'} ${min}.`)
  if (typeof max === 'string') parts.push(`${isTimestamp ? 'Not after' : 'At most'} ${max}.`)
  if (oneOf !== undefined && spellings !== undefined) parts.push(`One of ${oneOf.join(', ')}.`)
  for (const [value, label] of Object.entries(labels ?? {})) parts.push(`\`${value}\`: ${label}.`)
  if (pattern !== undefined && portablePattern(pattern) === undefined) {
    parts.push(`Matches ${String(pattern)}.`)
  }
  if (writes !== undefined && writes !== false) parts.push(describeWriteRule(writes))
  return parts.join(' ')
}
