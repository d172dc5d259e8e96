/** From a described property to its JSON Schema (2020-12, as OpenAPI 3.1 takes it). Source: decisions, Documentation. */
import type { ReferenceObject, SchemaObject } from 'openapi3-ts/oas31'
import { formats } from '../fields/formats.js'
import type { FieldRules } from '../fields/rules.js'
import type { ShapeField } from '../fields/shape.js'
import type { Class } from '../metadata/note.js'
import { toPlainJson } from './plain-json.js'

export type Schema = SchemaObject | ReferenceObject

/**
 * `@Field('string', { maxLength: 80, nullable: true })` → `{ type: ['string', 'null'], maxLength: 80 }`.
 *
 * @param refer gives the schema of a nested class, a reference as a rule
 */
export function fieldSchema(field: ShapeField, refer: (type: Class) => Schema): Schema {
  const single = field.nested === undefined ? valueSchema(field) : refer(field.nested())
  const whole: Schema = field.list ? listOf(single, field.rules) : single
  const schema = field.nullable ? orNull(whole) : whole
  return { ...schema, ...annotations(field) }
}

/** The schema of one value, or of one item of a list. */
function valueSchema({ entry, rules, kind }: ShapeField): SchemaObject {
  const schema: SchemaObject = { ...entry.schema }
  if (typeof rules.min === 'number') schema.minimum = rules.min
  if (typeof rules.max === 'number') schema.maximum = rules.max
  // The rules of a blob count its bytes, JSON Schema would count letters of base64.
  if (rules.minLength !== undefined && kind !== 'blob') schema.minLength = rules.minLength
  if (rules.maxLength !== undefined && kind !== 'blob') schema.maxLength = rules.maxLength
  const pattern = portablePattern(rules.pattern)
  if (pattern !== undefined) schema.pattern = pattern
  if (rules.format !== undefined && Object.hasOwn(formats, rules.format)) {
    schema.format = formats[rules.format].schema
  }
  if (rules.oneOf !== undefined) schema.enum = [...rules.oneOf]
  return schema
}

/** Lets null in: `type: ['string', 'null']`, or `anyOf` beside a reference. */
export function orNull(schema: Schema): Schema {
  if ('$ref' in schema) return { anyOf: [schema, { type: 'null' }] }
  const { type } = schema
  if (type === undefined) return schema
  const types = Array.isArray(type) ? type : [type]
  const nullable: SchemaObject = { ...schema, type: [...types, 'null'] }
  if (nullable.enum !== undefined) nullable.enum = [...(nullable.enum as unknown[]), null]
  return nullable
}

export function listOf(
  items: Schema,
  rules: Pick<FieldRules, 'minItems' | 'maxItems'> = {},
): SchemaObject {
  return {
    type: 'array',
    items,
    ...(rules.minItems === undefined ? {} : { minItems: rules.minItems }),
    ...(rules.maxItems === undefined ? {} : { maxItems: rules.maxItems }),
  }
}

function annotations({ rules, readOnly, kind }: ShapeField): SchemaObject {
  const noted: SchemaObject = {}
  const description = describe(rules)
  if (description !== '') noted.description = description
  if (readOnly) noted.readOnly = true
  const isMoment = kind === 'datetime' && rules.default === 'now'
  if (typeof rules.default !== 'function' && !isMoment) {
    const value = toPlainJson(rules.default)
    if (value !== undefined) noted.default = value
  }
  const example = toPlainJson(rules.example)
  if (example !== undefined) noted.examples = [example]
  return noted
}

/** The description, and what JSON Schema has no word for. */
function describe({ description, min, max, pattern }: Readonly<FieldRules>): string {
  const parts = description === undefined ? [] : [description]
  if (typeof min === 'string') parts.push(`Not before ${min}.`)
  if (typeof max === 'string') parts.push(`Not after ${max}.`)
  if (pattern !== undefined && portablePattern(pattern) === undefined) {
    parts.push(`Matches ${String(pattern)}.`)
  }
  return parts.join(' ')
}

/** The source of a pattern that means the same in JSON Schema: no flags that change it, valid with the flag `u`. */
function portablePattern(pattern: RegExp | string | undefined): string | undefined {
  if (pattern === undefined) return undefined
  if (typeof pattern !== 'string' && /[imsv]/.test(pattern.flags)) return undefined
  const source = typeof pattern === 'string' ? pattern : pattern.source
  try {
    new RegExp(source, 'u')
    return source
  } catch {
    return undefined
  }
}
