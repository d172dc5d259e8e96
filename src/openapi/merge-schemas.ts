/** Joins schemas that must all hold, into a single one if possible. */
import type { ReferenceObject, SchemaObject } from 'openapi3-ts/oas31'

export type Schema = SchemaObject | ReferenceObject

/**
 * `{ type: 'string' }` and `{ minLength: 1 }` → `{ type: 'string', minLength: 1 }`. Keywords that cannot be joined (two
 * patterns) are put into `allOf`.
 */
export function mergeSchemas(schemas: readonly Schema[]): Schema {
  const [first, ...others] = schemas.filter((schema) => Object.keys(schema).length > 0)
  return first === undefined ? {} : others.reduce(mergeTwo, first)
}

function mergeTwo(one: Schema, other: Schema): Schema {
  if ('$ref' in one || '$ref' in other) return { allOf: [one, other] }
  const merged = { ...one } as Record<string, unknown>
  const beside: Record<string, unknown> = {}
  for (const [word, value] of Object.entries(other) as [string, unknown][]) {
    const known = merged[word]
    const both = known === undefined ? value : join(word, known, value)
    if (both === undefined) beside[word] = value
    else merged[word] = both
  }
  if (Object.keys(beside).length > 0) {
    merged.allOf = [...((merged.allOf as unknown[] | undefined) ?? []), beside]
  }
  return merged
}

/** Joins both values of a keyword; `undefined` if no single value expresses both. */
function join(word: string, known: unknown, value: unknown): unknown {
  if (JSON.stringify(known) === JSON.stringify(value)) return known
  if (lowest.has(word)) return Math.max(known as number, value as number)
  if (highest.has(word)) return Math.min(known as number, value as number)
  if (word === 'type') return narrower(known, value)
  if (word === 'enum') {
    const allowed = new Set(value as unknown[])
    return (known as unknown[]).filter((one) => allowed.has(one))
  }
  return word === 'allOf' ? [...(known as unknown[]), ...(value as unknown[])] : undefined
}

const lowest = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'])
const highest = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'])

/** Integers are numbers. Types that exclude each other are put into `allOf`, which nothing satisfies. */
function narrower(known: unknown, value: unknown): unknown {
  const others = [value].flat()
  const kept = [known].flat().flatMap((one) => {
    if (others.includes(one)) return [one]
    if (one === 'number' && others.includes('integer')) return ['integer']
    return one === 'integer' && others.includes('number') ? ['integer'] : []
  })
  if (kept.length === 0) return undefined
  return kept.length === 1 ? kept[0] : kept
}
