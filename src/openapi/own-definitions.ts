/** Schemas that stand alone: what they refer to in a document comes along as their `$defs`. */
import type { ReferenceObject, SchemaObject } from 'openapi3-ts/oas31'

const inDocument = '#/components/schemas/'

/**
 * @param components of the document, by name
 * @returns the schema with local references alone; one that is nothing but a reference is put in its place
 */
export function withOwnDefinitions(
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
  const whole = '$ref' in schema ? components[nameOf(schema)] : schema
  const root = localize(whole ?? {}) as SchemaObject
  const definitions: Record<string, unknown> = {}
  // The list grows while it is gone through.
  for (const name of used) definitions[name] = localize(components[name] ?? {})
  return used.size === 0 ? root : ({ ...root, $defs: definitions } as SchemaObject)
}

function nameOf({ $ref }: { readonly $ref?: string }): string {
  return $ref?.slice(inDocument.length) ?? ''
}
