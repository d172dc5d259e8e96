/**
 * Compares two OpenAPI documents and finds changes that break existing clients: removed routes and fields, inputs that
 * the new version rejects, outputs that the old version never sent. For `filigree openapi --against old.json`.
 */
import type {
  OpenAPIObject,
  ReferenceObject,
  SchemaObject,
  OperationObject,
  ParameterObject,
  ResponseObject,
} from 'openapi3-ts/oas31'

type ChangeCode =
  | 'ROUTE_REMOVED'
  | 'ACCESS_NARROWED'
  | 'BODY_NARROWED'
  | 'FIELD_REQUIRED'
  | 'FIELD_REMOVED'
  | 'TYPE_NARROWED'
  | 'RESPONSE_REMOVED'
  | 'RESPONSE_FIELD_REMOVED'
  | 'RESPONSE_TYPE_CHANGED'

interface BreakingChange {
  readonly code: ChangeCode
  /** `POST /items: body.price: it is required now.` */
  readonly message: string
}

/** Two versions of a schema, and its location. */
interface SchemaPair {
  readonly before: OptionalSchema
  readonly after: OptionalSchema
  /** `POST /items: body.price` */
  readonly where: string
  readonly documents: { readonly before: OpenAPIObject; readonly after: OpenAPIObject }
  /** The pairs of references on the way here: classes may refer to themselves. */
  readonly trail?: ReadonlySet<string>
}

type OptionalSchema = SchemaObject | ReferenceObject | undefined
type FindChanges = (pair: ResolvedPair) => BreakingChange[]

interface ResolvedPair extends SchemaPair {
  readonly before: SchemaObject
  readonly after: SchemaObject
}

/** Everything that was accepted must still be accepted. */
function inputChanges(pair: SchemaPair): BreakingChange[] {
  return compare(pair, (resolved) => {
    const { before, after, where } = resolved
    const lostTypes = typesOf(before).filter((type) => !accepts(after, type))
    if (lostTypes.length > 0) {
      const rejectedText = lostTypes.includes('anything')
        ? 'not everything'
        : `no ${lostTypes.join(' and no ')}`
      return [{ code: 'TYPE_NARROWED', message: `${where}: ${rejectedText} is taken any more.` }]
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
function outputChanges(pair: SchemaPair): BreakingChange[] {
  return compare(pair, (resolved) => {
    const { before, after, where } = resolved
    const added = typesOf(after).filter((type) => !accepts(before, type))
    if (added.length > 0) {
      const addedText = added.includes('anything') ? 'anything' : added.join(' or ')
      return [{ code: 'RESPONSE_TYPE_CHANGED', message: `${where}: it may be ${addedText} now.` }]
    }
    return [
      ...missingFields(resolved),
      ...eachField(resolved, outputChanges, 'RESPONSE_FIELD_REMOVED'),
      ...eachItem(resolved, outputChanges),
    ]
  })
}

function compare(pair: SchemaPair, findChanges: FindChanges): BreakingChange[] {
  const key = `${referenceOf(pair.before)} ${referenceOf(pair.after)}`
  const isReferred = key !== ' '
  if (isReferred && pair.trail?.has(key) === true) return []
  const trail = isReferred ? new Set([...(pair.trail ?? []), key]) : pair.trail
  const before = resolve(pair.before, pair.documents.before)
  const after = resolve(pair.after, pair.documents.after)
  return findChanges({ ...pair, before, after, ...(trail === undefined ? {} : { trail }) })
}

function referenceOf(schema: OptionalSchema): string {
  return schema !== undefined && '$ref' in schema ? (schema.$ref ?? '') : ''
}

/** Follows references; `anyOf` with null becomes one schema whose types include null. */
function resolve(schema: OptionalSchema, document: OpenAPIObject): SchemaObject {
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

function narrowed(where: string, description: string): BreakingChange {
  return { code: 'TYPE_NARROWED', message: `${where}: ${description}.` }
}

/** The bounds that became stricter, in words. */
function narrowedBounds(before: SchemaObject, after: SchemaObject): string[] {
  const found: string[] = []
  for (const name of ['minimum', 'minLength', 'minItems'] as const) {
    const [oldBound, newBound] = [before[name] ?? -Infinity, after[name] ?? -Infinity]
    if (newBound > oldBound) found.push(`${name} is ${newBound} now`)
  }
  for (const name of ['maximum', 'maxLength', 'maxItems'] as const) {
    const [oldBound, newBound] = [before[name] ?? Infinity, after[name] ?? Infinity]
    if (newBound < oldBound) found.push(`${name} is ${newBound} now`)
  }
  for (const name of ['pattern', 'format'] as const) {
    const newBound = after[name]
    if (newBound !== undefined && newBound !== before[name])
      found.push(`${name} is ${newBound} now`)
  }
  return [...found, ...lostValues(before, after)]
}

function lostValues(before: SchemaObject, after: SchemaObject): string[] {
  if (after.enum === undefined) return []
  const now = new Set<unknown>(after.enum)
  if (before.enum === undefined) return ['only some values are accepted now']
  const removedValues = (before.enum as unknown[]).filter((value) => !now.has(value))
  return removedValues.map((value) => `${JSON.stringify(value)} was removed`)
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

const verbs = ['get', 'post', 'put', 'patch', 'delete'] as const

/**
 * Finds every change that breaks a client written for `before`: a removed route, field or response, a new required field,
 * a type that accepts less or sends more, a new need for a token. Additions break nothing.
 */
export function findBreakingChanges(before: OpenAPIObject, after: OpenAPIObject): BreakingChange[] {
  const now = operationsOf(after)
  return [...operationsOf(before)].flatMap(([key, { title, operation }]) => {
    const current = now.get(key)
    if (current === undefined) {
      return [{ code: 'ROUTE_REMOVED', message: `${title}: it was removed.` }]
    }
    const pair: OperationPair = {
      title,
      before: operation,
      after: current.operation,
      documents: { before, after },
    }
    return distinct([
      ...accessChanges(pair),
      ...parameterChanges(pair),
      ...bodyChanges(pair),
      ...responseChanges(pair),
    ])
  })
}

/** A body with three media types is reported once. */
function distinct(changes: readonly BreakingChange[]): BreakingChange[] {
  return [...new Map(changes.map((change) => [change.message, change])).values()]
}

interface OperationPair {
  /** `GET /items/{id}` */
  readonly title: string
  readonly before: OperationObject
  readonly after: OperationObject
  readonly documents: { readonly before: OpenAPIObject; readonly after: OpenAPIObject }
}

interface Titled {
  readonly title: string
  readonly operation: OperationObject
}

/** By method and path without the names of parameters, which clients do not send. */
function operationsOf({ paths = {} }: OpenAPIObject): Map<string, Titled> {
  const found = new Map<string, Titled>()
  for (const [path, item] of Object.entries(paths)) {
    for (const verb of verbs) {
      const operation = item[verb]
      if (operation === undefined) continue
      const title = `${verb.toUpperCase()} ${path}`
      found.set(`${verb} ${path.replace(/\{[^}]*\}/g, '{}')}`, { title, operation })
    }
  }
  return found
}

/** Every earlier way of access must still work, with the same roles or fewer. */
function accessChanges({ title, before, after, documents }: OperationPair): BreakingChange[] {
  const now = rolesOf(after, documents.after)
  const shut = rolesOf(before, documents.before).filter(
    (had) => !now.some((requiredRoles) => requiredRoles.every((role) => had.includes(role))),
  )
  if (shut.length === 0) return []
  const ways = now.map((roles) => roles.filter((role) => role !== anyToken).join(' and '))
  const alternatives = [...new Set(ways)]
  const withRoles = alternatives.some((roles) => roles === '')
    ? ''
    : ` with ${alternatives.join(' or ')}`
  return [{ code: 'ACCESS_NARROWED', message: `${title}: it needs a token${withRoles} now.` }]
}

const anyToken = ' token'

/** The ways of access, each as a list of what it requires; an empty list if no token is needed. */
function rolesOf({ security }: OperationObject, document: OpenAPIObject): string[][] {
  const ways = security ?? document.security ?? []
  if (ways.length === 0) return [[]]
  return ways.map((way) => Object.entries(way).flatMap(([, roles]) => [anyToken, ...roles]))
}

function parameterChanges({ title, before, after, documents }: OperationPair): BreakingChange[] {
  const oldParameters = parametersOf(before)
  const newParameters = parametersOf(after)
  const required = [...newParameters]
    .filter(
      ([key, { required: isRequired }]) =>
        isRequired === true && oldParameters.get(key)?.required !== true,
    )
    .map(([key]) => ({
      code: 'FIELD_REQUIRED' as const,
      message: `${title}: ${key}: it is required now.`,
    }))
  const changed = [...oldParameters].flatMap(([key, parameter]): BreakingChange[] => {
    const where = `${title}: ${key}`
    const current = newParameters.get(key)
    if (current === undefined)
      return [{ code: 'FIELD_REMOVED', message: `${where}: it was removed.` }]
    const pair = { before: schemaOf(parameter), after: schemaOf(current), where, documents }
    return inputChanges(pair)
  })
  return [...required, ...changed]
}

/** By location and name; path parameters by position. */
function parametersOf({ parameters = [] }: OperationObject): Map<string, ParameterObject> {
  const found = new Map<string, ParameterObject>()
  let position = 0
  for (const parameter of parameters) {
    if ('$ref' in parameter) continue
    const { in: location, name } = parameter
    const key = location === 'path' ? `path parameter ${++position}` : `${location} ${name}`
    found.set(key, parameter)
  }
  return found
}

function schemaOf({ schema, content }: ParameterObject): ParameterObject['schema'] {
  return schema ?? content?.['application/json']?.schema
}

function bodyChanges({ title, before, after, documents }: OperationPair): BreakingChange[] {
  const oldBody = withoutReference(before.requestBody)
  const newBody = withoutReference(after.requestBody)
  if (newBody === undefined) return []
  const where = `${title}: body`
  const found: BreakingChange[] = []
  if (newBody.required === true && oldBody?.required !== true) {
    found.push({ code: 'FIELD_REQUIRED', message: `${where}: it is required now.` })
  }
  for (const [type, { schema }] of Object.entries(oldBody?.content ?? {})) {
    const current = newBody.content[type]
    if (current === undefined) {
      found.push({ code: 'BODY_NARROWED', message: `${where}: ${type} was removed.` })
    } else {
      found.push(...inputChanges({ before: schema, after: current.schema, where, documents }))
    }
  }
  return found
}

function responseChanges({ title, before, after, documents }: OperationPair): BreakingChange[] {
  const newResponses = successesOf(after)
  return [...successesOf(before)].flatMap(([status, oldResponse]): BreakingChange[] => {
    const where = `${title}: response ${status}`
    const current = newResponses.get(status)
    if (current === undefined) {
      return [{ code: 'RESPONSE_REMOVED', message: `${where}: it was removed.` }]
    }
    return Object.entries(oldResponse.content ?? {}).flatMap(([type, { schema }]) => {
      const media = current.content?.[type]
      // The route did not declare what it sends, so anything was possible.
      if (type === '*/*') return []
      if (media === undefined) {
        return [{ code: 'RESPONSE_REMOVED', message: `${where}: ${type} was removed.` }]
      }
      return outputChanges({ before: schema, after: media.schema, where, documents })
    })
  })
}

function successesOf({ responses = {} }: OperationObject): Map<string, ResponseObject> {
  const entries = Object.entries(responses)
  return new Map(
    entries.flatMap(([status, response]): [string, ResponseObject][] =>
      status.startsWith('2') && !('$ref' in response) ? [[status, response]] : [],
    ),
  )
}

function withoutReference<T extends object>(value: T | ReferenceObject | undefined): T | undefined {
  return value === undefined || '$ref' in value ? undefined : value
}
