/** Makes a schema from a sample, for routes without a declared class. Source: decisions, OpenAPI. */
import { isMap } from '../core/json.js'
import type { SchemaObject, SchemaObjectType } from 'openapi3-ts/oas31'

/**
 * `{ id: 7, tags: ['a'] }` → `{ type: 'object', properties: { id: { type: 'integer' }, tags: { type: 'array', items:
 * { type: 'string' } } } }`. No key is required, because one sample does not tell which keys are.
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
  const others = samples.filter((sample) => !isMap(sample)).map(inferSchema)
  const schemas = objects.length === 0 ? others : [mergeObjects(objects), ...others]
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
  const properties = [...values].map(([name, given]) => [name, mergeSamples(given)])
  return { type: 'object', properties: Object.fromEntries(properties) as Properties }
}
