/**
 * Finds changes of a schema that break existing clients: inputs that are no longer accepted, outputs that are no longer
 * sent.
 */
import type { OpenAPIObject, ReferenceObject, SchemaObject } from 'openapi3-ts/oas31'

export type ChangeCode =
  | 'ROUTE_REMOVED'
  | 'ACCESS_NARROWED'
  | 'BODY_NARROWED'
  | 'FIELD_REQUIRED'
  | 'FIELD_REMOVED'
  | 'TYPE_NARROWED'
  | 'RESPONSE_REMOVED'
  | 'RESPONSE_FIELD_REMOVED'
  | 'RESPONSE_TYPE_CHANGED'

export interface BreakingChange {
  readonly code: ChangeCode
  /** `POST /items: body.price: it is required now.` */
  readonly message: string
}

/** Two versions of a schema, and its place. */
export interface SchemaPair {
  readonly before: Schema
  readonly after: Schema
  /** `POST /items: body.price` */
  readonly where: string
  readonly documents: { readonly before: OpenAPIObject; readonly after: OpenAPIObject }
  /** The pairs of references on the way here: classes may refer to themselves. */
  readonly trail?: ReadonlySet<string>
}

type Schema = SchemaObject | ReferenceObject | undefined
type Comparison = (pair: ResolvedPair) => BreakingChange[]

interface ResolvedPair extends SchemaPair {
  readonly before: SchemaObject
  readonly after: SchemaObject
}

/** Everything that was accepted must still be accepted. */
export function inputChanges(pair: SchemaPair): BreakingChange[] {
  return compare(pair, (resolved) => {
    const { before, after, where } = resolved
    const lost = typesOf(before).filter((type) => !accepts(after, type))
    if (lost.length > 0) {
      const gone = lost.includes('anything') ? 'not everything' : `no ${lost.join(' and no ')}`
      return [{ code: 'TYPE_NARROWED', message: `${where}: ${gone} is taken any more.` }]
    }
    return [
      ...narrowedBounds(before, after).map((bound) => narrowed(where, bound)),
      ...requiredFields(resolved),
      ...eachField(resolved, inputChanges, 'FIELD_REMOVED'),
      ...eachItem(resolved, inputChanges),
    ]
  })
}

/**
 * Everything that is sent must be something that could be sent before. Bounds do not matter, because clients do not
 * check them.
 */
export function outputChanges(pair: SchemaPair): BreakingChange[] {
  return compare(pair, (resolved) => {
    const { before, after, where } = resolved
    const added = typesOf(after).filter((type) => !accepts(before, type))
    if (added.length > 0) {
      const what = added.includes('anything') ? 'anything' : added.join(' or ')
      return [{ code: 'RESPONSE_TYPE_CHANGED', message: `${where}: it may be ${what} now.` }]
    }
    return [
      ...missingFields(resolved),
      ...eachField(resolved, outputChanges, 'RESPONSE_FIELD_REMOVED'),
      ...eachItem(resolved, outputChanges),
    ]
  })
}

function compare(pair: SchemaPair, judge: Comparison): BreakingChange[] {
  const key = `${referenceOf(pair.before)} ${referenceOf(pair.after)}`
  const isReferred = key !== ' '
  if (isReferred && pair.trail?.has(key) === true) return []
  const trail = isReferred ? new Set([...(pair.trail ?? []), key]) : pair.trail
  const before = resolve(pair.before, pair.documents.before)
  const after = resolve(pair.after, pair.documents.after)
  return judge({ ...pair, before, after, ...(trail === undefined ? {} : { trail }) })
}

function referenceOf(schema: Schema): string {
  return schema !== undefined && '$ref' in schema ? (schema.$ref ?? '') : ''
}

/** Follows references; `anyOf` with null becomes one schema whose types include null. */
function resolve(schema: Schema, document: OpenAPIObject): SchemaObject {
  if (schema === undefined) return {}
  if (schema.$ref !== undefined) {
    const name = schema.$ref.replace('#/components/schemas/', '')
    return resolve(document.components?.schemas?.[name], document)
  }
  const { anyOf, ...rest } = schema as SchemaObject
  if (anyOf === undefined) return rest
  const members = anyOf.map((member) => resolve(member, document))
  if (members.some(({ type }) => type === undefined)) return {}
  const types = [...new Set(members.flatMap(({ type }) => type ?? []))]
  return Object.assign({}, ...members, rest, { type: types }) as SchemaObject
}

function typesOf({ type }: SchemaObject): readonly string[] {
  if (type === undefined) return ['anything']
  return Array.isArray(type) ? type : [type]
}

function accepts(schema: SchemaObject, type: string): boolean {
  const types = typesOf(schema)
  if (types.includes('anything') || types.includes(type)) return true
  return type === 'integer' && types.includes('number')
}

function narrowed(where: string, what: string): BreakingChange {
  return { code: 'TYPE_NARROWED', message: `${where}: ${what}.` }
}

/** The bounds that became stricter, in words. */
function narrowedBounds(before: SchemaObject, after: SchemaObject): string[] {
  const found: string[] = []
  for (const name of ['minimum', 'minLength', 'minItems'] as const) {
    const [was, is] = [before[name] ?? -Infinity, after[name] ?? -Infinity]
    if (is > was) found.push(`${name} is ${is} now`)
  }
  for (const name of ['maximum', 'maxLength', 'maxItems'] as const) {
    const [was, is] = [before[name] ?? Infinity, after[name] ?? Infinity]
    if (is < was) found.push(`${name} is ${is} now`)
  }
  for (const name of ['pattern', 'format'] as const) {
    const is = after[name]
    if (is !== undefined && is !== before[name]) found.push(`${name} is ${is} now`)
  }
  return [...found, ...lostValues(before, after)]
}

function lostValues(before: SchemaObject, after: SchemaObject): string[] {
  if (after.enum === undefined) return []
  const now = new Set<unknown>(after.enum)
  if (before.enum === undefined) return ['only some values are accepted now']
  const lost = (before.enum as unknown[]).filter((value) => !now.has(value))
  return lost.map((value) => `${JSON.stringify(value)} is no longer accepted`)
}

function requiredFields({ before, after, where }: ResolvedPair): BreakingChange[] {
  return (after.required ?? [])
    .filter((name) => !(before.required ?? []).includes(name))
    .map((name) => ({ code: 'FIELD_REQUIRED', message: `${where}.${name}: it is required now.` }))
}

function missingFields({ before, after, where }: ResolvedPair): BreakingChange[] {
  const stillThere = Object.keys(after.properties ?? {})
  return (before.required ?? [])
    .filter((name) => stillThere.includes(name) && !(after.required ?? []).includes(name))
    .map((name) => ({
      code: 'RESPONSE_TYPE_CHANGED',
      message: `${where}.${name}: it may be absent now.`,
    }))
}

function eachField(
  pair: ResolvedPair,
  changes: (pair: SchemaPair) => BreakingChange[],
  removed: ChangeCode,
): BreakingChange[] {
  const now = pair.after.properties ?? {}
  // An object without declared fields accepts any field, but promises none.
  if (pair.after.properties === undefined && removed === 'FIELD_REMOVED') return []
  return Object.entries(pair.before.properties ?? {}).flatMap(([name, before]) => {
    const where = `${pair.where}.${name}`
    const after = Object.hasOwn(now, name) ? now[name] : undefined
    if (after === undefined) return [{ code: removed, message: `${where}: it was removed.` }]
    return changes({ ...pair, before, after, where })
  })
}

function eachItem(
  pair: ResolvedPair,
  changes: (pair: SchemaPair) => BreakingChange[],
): BreakingChange[] {
  const { before, after, where } = pair
  if (before.items === undefined || after.items === undefined) return []
  return changes({ ...pair, before: before.items, after: after.items, where: `${where}[]` })
}
