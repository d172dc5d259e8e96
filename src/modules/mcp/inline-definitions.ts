/**
 * Writes the definitions of a JSON Schema where they are used, because many agents do not follow `$ref`. Only definitions
 * that recur stay definitions.
 */
import { isJsonObject, type JsonObject } from './protocol.js'

const prefix = '#/$defs/'

/** @param schema with its definitions in `$defs`; others refer to nothing outside the schema */
export function inlineDefinitions(schema: JsonObject): JsonObject {
  const { $defs, ...root } = schema
  if (!isJsonObject($defs)) return schema
  const recursive = findRecursive($defs)
  const inline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inline)
    if (!isJsonObject(value)) return value
    const name = nameOf(value)
    if (name !== undefined && !recursive.has(name)) {
      const siblings = Object.entries(value).filter(([key]) => key !== '$ref')
      return inline({
        ...(isJsonObject($defs[name]) ? $defs[name] : {}),
        ...Object.fromEntries(siblings),
      })
    }
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, inline(part)]))
  }
  const used = new Set(namesIn(root, $defs, recursive))
  const inlined = inline(root) as JsonObject
  if (used.size === 0) return inlined
  const definitions = [...used].map((name) => [name, inline($defs[name])] as const)
  return { ...inlined, $defs: Object.fromEntries(definitions) }
}

/** The definitions that lead back to themselves. */
function findRecursive(definitions: JsonObject): ReadonlySet<string> {
  const names = Object.keys(definitions)
  return new Set(names.filter((name) => reachableFrom(definitions[name], definitions).has(name)))
}

/** The recursive definitions that a schema needs. */
function namesIn(
  root: JsonObject,
  definitions: JsonObject,
  recursive: ReadonlySet<string>,
): string[] {
  return [...reachableFrom(root, definitions)].filter((name) => recursive.has(name))
}

function reachableFrom(schema: unknown, definitions: JsonObject): ReadonlySet<string> {
  const found = new Set<string>(referencesIn(schema))
  // The set grows during the loop.
  for (const name of found) for (const other of referencesIn(definitions[name])) found.add(other)
  return found
}

function referencesIn(schema: unknown): string[] {
  if (Array.isArray(schema)) return schema.flatMap(referencesIn)
  if (!isJsonObject(schema)) return []
  const name = nameOf(schema)
  const nested = Object.values(schema).flatMap(referencesIn)
  return name === undefined ? nested : [name, ...nested]
}

function nameOf({ $ref }: JsonObject): string | undefined {
  return typeof $ref === 'string' && $ref.startsWith(prefix) ? $ref.slice(prefix.length) : undefined
}
