/**
 * Compares two documents and finds changes that break existing clients, for `filigree openapi --against old.json`.
 */
import type {
  OpenAPIObject,
  OperationObject,
  ParameterObject,
  ReferenceObject,
  ResponseObject,
} from 'openapi3-ts/oas31'
import { inputChanges, outputChanges, type BreakingChange } from './schema-changes.js'

const verbs = ['get', 'post', 'put', 'patch', 'delete'] as const

/**
 * Finds every change that breaks a client written for `before`: a removed route, field or answer, a new required field,
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
    (had) => !now.some((asked) => asked.every((role) => had.includes(role))),
  )
  if (shut.length === 0) return []
  const ways = now.map((roles) => roles.filter((role) => role !== anyToken).join(' and '))
  const asked = [...new Set(ways)]
  const who = asked.some((roles) => roles === '') ? '' : ` with ${asked.join(' or ')}`
  return [{ code: 'ACCESS_NARROWED', message: `${title}: it needs a token${who} now.` }]
}

const anyToken = ' token'

/** The ways of access, each as a list of what it requires; an empty list if no token is needed. */
function rolesOf({ security }: OperationObject, document: OpenAPIObject): string[][] {
  const ways = security ?? document.security ?? []
  if (ways.length === 0) return [[]]
  return ways.map((way) => Object.entries(way).flatMap(([, roles]) => [anyToken, ...roles]))
}

function parameterChanges({ title, before, after, documents }: OperationPair): BreakingChange[] {
  const was = parametersOf(before)
  const is = parametersOf(after)
  const required = [...is]
    .filter(([key, { required: needed }]) => needed === true && was.get(key)?.required !== true)
    .map(([key]) => ({
      code: 'FIELD_REQUIRED' as const,
      message: `${title}: ${key}: it is required now.`,
    }))
  const changed = [...was].flatMap(([key, parameter]): BreakingChange[] => {
    const where = `${title}: ${key}`
    const current = is.get(key)
    if (current === undefined)
      return [{ code: 'FIELD_REMOVED', message: `${where}: it was removed.` }]
    const pair = { before: schemaOf(parameter), after: schemaOf(current), where, documents }
    return inputChanges(pair)
  })
  return [...required, ...changed]
}

/** By place and name; path parameters by position. */
function parametersOf({ parameters = [] }: OperationObject): Map<string, ParameterObject> {
  const found = new Map<string, ParameterObject>()
  let position = 0
  for (const parameter of parameters) {
    if ('$ref' in parameter) continue
    const { in: place, name } = parameter
    const key = place === 'path' ? `path parameter ${++position}` : `${place} ${name}`
    found.set(key, parameter)
  }
  return found
}

function schemaOf({ schema, content }: ParameterObject): ParameterObject['schema'] {
  return schema ?? content?.['application/json']?.schema
}

function bodyChanges({ title, before, after, documents }: OperationPair): BreakingChange[] {
  const was = withoutReference(before.requestBody)
  const is = withoutReference(after.requestBody)
  if (is === undefined) return []
  const where = `${title}: body`
  const found: BreakingChange[] = []
  if (is.required === true && was?.required !== true) {
    found.push({ code: 'FIELD_REQUIRED', message: `${where}: it is required now.` })
  }
  for (const [type, { schema }] of Object.entries(was?.content ?? {})) {
    const current = is.content[type]
    if (current === undefined) {
      found.push({ code: 'BODY_NARROWED', message: `${where}: ${type} is no longer accepted.` })
    } else {
      found.push(...inputChanges({ before: schema, after: current.schema, where, documents }))
    }
  }
  return found
}

function responseChanges({ title, before, after, documents }: OperationPair): BreakingChange[] {
  const is = successesOf(after)
  return [...successesOf(before)].flatMap(([status, was]): BreakingChange[] => {
    const where = `${title}: response ${status}`
    const current = is.get(status)
    if (current === undefined) {
      return [{ code: 'RESPONSE_REMOVED', message: `${where}: it is no longer given.` }]
    }
    return Object.entries(was.content ?? {}).flatMap(([type, { schema }]) => {
      const media = current.content?.[type]
      // The route did not declare what it sends, so anything was possible.
      if (type === '*/*') return []
      if (media === undefined) {
        return [{ code: 'RESPONSE_REMOVED', message: `${where}: ${type} is no longer sent.` }]
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
