/**
 * `schemaOf`: the JSON Schema of a class without a document. Nested classes are included as `$defs`.
 */
import type { ReferenceObject, SchemaObject } from 'openapi3-ts/oas31'
import type { Class } from '../metadata/class-metadata.js'
import { createSchemas } from './schemas.js'

const inDocument = '#/components/schemas/'

/**
 * @param components of the document, by name
 * @returns the schema with local references only; a schema that is only a reference is replaced by its target
 */
export function withLocalDefinitions(
  schema: SchemaObject | ReferenceObject,
  components: Readonly<Record<string, SchemaObject>>,
): SchemaObject {
  const used = new Set<string>()
  const localize = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(localize)
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(([key, part]): [string, unknown] => {
      if (key !== '$ref' || typeof part !== 'string' || !part.startsWith(inDocument))
        return [key, localize(part)]
      const name = part.slice(inDocument.length)
      used.add(name)
      return [key, `#/$defs/${name}`]
    })
    return Object.fromEntries(entries)
  }
  const target = '$ref' in schema ? components[nameOf(schema)] : schema
  const root = localize(target ?? {}) as SchemaObject
  const definitions: Record<string, unknown> = {}
  // The set grows during the loop.
  for (const name of used) definitions[name] = localize(components[name] ?? {})
  return used.size === 0 ? root : ({ ...root, $defs: definitions } as SchemaObject)
}

function nameOf({ $ref }: { readonly $ref?: string }): string {
  return $ref?.slice(inDocument.length) ?? ''
}

/**
 * The schema of a client's input for a class, without additional properties; nested classes are its `$defs`. JSON
 * Schema 2020-12.
 */
export function schemaOf(type: Class): SchemaObject {
  const schemas = createSchemas()
  const schema = schemas.of({ type, list: false }, 'input')
  return withLocalDefinitions(schema, Object.fromEntries(schemas.components))
}
