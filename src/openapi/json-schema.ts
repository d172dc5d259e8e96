/**
 * Basic operations on JSON Schemas: merge schemas, infer a schema from a sample, convert a sample to plain JSON.
 */
import type { SchemaObject, SchemaObjectType, ReferenceObject } from 'openapi3-ts/oas31'
import { isMap } from '../core/json.js'

/**
 * @returns the value as `JSON.parse` would return it; `undefined` if JSON cannot express it (functions, cycles, bigint)
 */
export function toPlainJson(value: unknown): unknown {
  try {
    const text = JSON.stringify(value) as string | undefined
    return text === undefined ? undefined : (JSON.parse(text) as unknown)
  } catch {
    return undefined
  }
}

/**
 * `{ id: 7, tags: ['a'] }` → `{ type: 'object', properties: { id: { type: 'integer' }, tags: { type: 'array', items:
 * { type: 'string' } } } }`. No key is required, because one sample does not show which keys are.
 *
 * @param sample plain JSON
 */
export function inferSchema(sample: unknown): SchemaObject {
  if (sample === null) return { type: 'null' }
  if (Array.isArray(sample)) return { type: 'array', items: mergeSamples(sample) }
  if (typeof sample !== 'object') return { type: scalarType(sample) }
  const properties = Object.entries(sample).map(([name, value]) => [name, inferSchema(value)])
  return { type: 'object', properties: Object.fromEntries(properties) as Properties }
}

type Properties = Record<string, SchemaObject>

function scalarType(sample: unknown): SchemaObjectType {
  if (typeof sample === 'number') return Number.isInteger(sample) ? 'integer' : 'number'
  return typeof sample === 'boolean' ? 'boolean' : 'string'
}

/** One schema for all items: objects are merged, other types become alternatives. */
function mergeSamples(samples: readonly unknown[]): SchemaObject {
  const objects = samples.filter(isMap)
  const otherSchemas = samples.filter((sample) => !isMap(sample)).map(inferSchema)
  const schemas = objects.length === 0 ? otherSchemas : [mergeObjects(objects), ...otherSchemas]
  const distinct = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()]
  const [first] = distinct
  if (first === undefined) return {}
  return distinct.length === 1 ? first : { anyOf: distinct }
}

function mergeObjects(samples: readonly Readonly<Record<string, unknown>>[]): SchemaObject {
  const values = new Map<string, unknown[]>()
  for (const sample of samples) {
    for (const [name, value] of Object.entries(sample)) {
      values.set(name, [...(values.get(name) ?? []), value])
    }
  }
  const properties = [...values].map(([name, valuesOfName]) => [name, mergeSamples(valuesOfName)])
  return { type: 'object', properties: Object.fromEntries(properties) as Properties }
}

export type Schema = SchemaObject | ReferenceObject

/**
 * `{ type: 'string' }` and `{ minLength: 1 }` → `{ type: 'string', minLength: 1 }`. Keywords that cannot be joined (two
 * patterns) are put into `allOf`.
 */
export function mergeSchemas(schemas: readonly Schema[]): Schema {
  const [first, ...otherSchemas] = schemas.filter((schema) => Object.keys(schema).length > 0)
  return first === undefined ? {} : otherSchemas.reduce(mergeTwo, first)
}

function mergeTwo(one: Schema, other: Schema): Schema {
  if ('$ref' in one || '$ref' in other) return { allOf: [one, other] }
  const merged = { ...one } as Record<string, unknown>
  const separate: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(other) as [string, unknown][]) {
    const existing = merged[keyword]
    const joined = existing === undefined ? value : join(keyword, existing, value)
    if (joined === undefined) separate[keyword] = value
    else merged[keyword] = joined
  }
  if (Object.keys(separate).length > 0) {
    merged.allOf = [...((merged.allOf as unknown[] | undefined) ?? []), separate]
  }
  return merged
}

/** Joins two values of a keyword; `undefined` if no single value expresses both. */
function join(keyword: string, existing: unknown, value: unknown): unknown {
  if (JSON.stringify(existing) === JSON.stringify(value)) return existing
  if (lowerBounds.has(keyword)) return Math.max(existing as number, value as number)
  if (upperBounds.has(keyword)) return Math.min(existing as number, value as number)
  if (keyword === 'type') return narrower(existing, value)
  if (keyword === 'enum') {
    const allowed = new Set(value as unknown[])
    return (existing as unknown[]).filter((one) => allowed.has(one))
  }
  return keyword === 'allOf' ? [...(existing as unknown[]), ...(value as unknown[])] : undefined
}

const lowerBounds = new Set([
  'minimum',
  'exclusiveMinimum',
  'minLength',
  'minItems',
  'minProperties',
])
const upperBounds = new Set([
  'maximum',
  'exclusiveMaximum',
  'maxLength',
  'maxItems',
  'maxProperties',
])

/** Integers are numbers. Types that exclude each other are put into `allOf`, which nothing satisfies. */
function narrower(existing: unknown, value: unknown): unknown {
  const allowed = [value].flat()
  const common = [existing].flat().flatMap((one) => {
    if (allowed.includes(one)) return [one]
    if (one === 'number' && allowed.includes('integer')) return ['integer']
    return one === 'integer' && allowed.includes('number') ? ['integer'] : []
  })
  if (common.length === 0) return undefined
  return common.length === 1 ? common[0] : common
}
