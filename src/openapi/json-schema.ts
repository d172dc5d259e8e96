/**
 * Basic operations on JSON Schemas: merge schemas, infer a schema from a sample, convert a sample to plain JSON, and write
 * regular expressions as JSON Schema's `pattern`, which has no flags (JSON Schema 2020-12, §6.3.3).
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

export type SchemaOrReference = SchemaObject | ReferenceObject

/**
 * `{ type: 'string' }` and `{ minLength: 1 }` → `{ type: 'string', minLength: 1 }`. Keywords that cannot be joined (two
 * patterns) are put into `allOf`.
 */
export function mergeSchemas(schemas: readonly SchemaOrReference[]): SchemaOrReference {
  const [first, ...otherSchemas] = schemas.filter((schema) => Object.keys(schema).length > 0)
  return first === undefined ? {} : otherSchemas.reduce(mergeTwo, first)
}

function mergeTwo(one: SchemaOrReference, other: SchemaOrReference): SchemaOrReference {
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

/**
 * `/^[a-f]+$/i` → `^[a-fA-F]+$`.
 *
 * @returns `undefined` if the pattern cannot be written without its flags (`m`, `s`, `v`, `i` with `u`), or would have
 * another meaning: then only the description mentions the pattern
 */
export function portablePattern(pattern: RegExp | string | undefined): string | undefined {
  if (pattern === undefined) return undefined
  const { source, flags } = typeof pattern === 'string' ? { source: pattern, flags: '' } : pattern
  if (/[msv]/.test(flags)) return undefined
  const plain = flags.includes('i') ? withBothCases(source, flags) : source
  // Validators compile patterns with the flag `u`.
  return plain !== undefined && compiles(plain) ? plain : undefined
}

function compiles(source: string): boolean {
  try {
    new RegExp(source, 'u')
    return true
  } catch {
    return false
  }
}

/** One token at a time: an escape, a class, the start of a group, or a single character. */
const tokens =
  /\\(?:k<[^>]*>|u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|.)|\[(?:\\.|[^\]\\])*\]|\(\?(?:<[^=!][^>]*>|[:=!]|<[=!])?|\{\d+(?:,\d*)?\}|[^]/g

/** Writes each letter in both cases. With the flags `i` and `u` other characters have cases too, so such patterns are not converted. */
function withBothCases(source: string, flags: string): string | undefined {
  if (flags.includes('u')) return undefined
  let written = ''
  for (const [token] of source.matchAll(tokens)) {
    // A back reference would have to ignore case, which no pattern can express.
    if (/^\\(?:[1-9]|k<)/.test(token)) return undefined
    if (token.length > 1 && token.startsWith('[')) {
      const expanded = classWithBothCases(token)
      if (expanded === undefined) return undefined
      written += expanded
    } else written += token.length === 1 ? letterClass(token) : token
  }
  return written
}

function letterClass(character: string): string {
  const other = otherCase(character)
  return other === undefined ? character : `[${character}${other}]`
}

/** The members of `[a-fX]`, in both cases: `[a-fXA-Fx]`. */
function classWithBothCases(token: string): string | undefined {
  const members = token.slice(1, -1)
  const added: string[] = []
  const ranges = members.matchAll(/(\\.|[^\\])(?:-(\\.|[^\\]))?/g)
  for (const [, first = '', last] of ranges) {
    if (first.startsWith('\\') || last?.startsWith('\\') === true) {
      // Escapes for many characters, or for characters without case, stay as they are.
      if (last !== undefined || /^\\[xuc]/.test(first)) return undefined
      continue
    }
    added.push(otherRange(first, last ?? first))
  }
  return `[${members}${added.join('')}]`
}

function otherRange(first: string, last: string): string {
  const from = first.codePointAt(0) ?? 0
  const to = last.codePointAt(0) ?? 0
  return [shifted(from, to, 0x61, 0x7a, -32), shifted(from, to, 0x41, 0x5a, 32)].join('')
}

/** The part of a range within the letters of one case, moved to the other case. */
function shifted(from: number, to: number, low: number, high: number, by: number): string {
  const start = Math.max(from, low)
  const end = Math.min(to, high)
  if (start > end) return ''
  const first = String.fromCodePoint(start + by)
  return start === end ? first : `${first}-${String.fromCodePoint(end + by)}`
}

function otherCase(character: string): string | undefined {
  const upper = character.toUpperCase()
  const lower = character.toLowerCase()
  const other = upper === character ? lower : upper
  return other !== character && other.length === character.length ? other : undefined
}
