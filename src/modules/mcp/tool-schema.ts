/**
 * A route as a tool. Path, query and body are one flat closed object; who reads the schema need not know which part goes where. What
 * a tool answers is described where it is declared and an object. Source: decisions, "Third storey: admin and agents", Tools.
 */
import { withOwnDefinitions, type RouteDescriptions, type RouteInfo } from '../../index.js'
import type { ToolOptions } from './decorators.js'
import { isMembers, type Members } from './protocol.js'

type Operation = NonNullable<ReturnType<RouteDescriptions['operations']['get']>>
type Schemas = RouteDescriptions['schemas']

/** Where an argument goes. */
export type Place = 'path' | 'query' | 'body'

/** A route that is a tool. */
export interface RouteTool {
  readonly route: RouteInfo
  readonly name: string
  /** As `tools/list` tells it. */
  readonly told: Members
  readonly places: ReadonlyMap<string, Place>
  readonly required: readonly string[]
  /** The body is the argument `body`, because it is no object of known fields. */
  readonly wholeBody: boolean
  readonly hasBody: boolean
  /** Dotted paths go into the query: it filters by fields behind relations, which the document does not list. */
  readonly takesPaths: boolean
  /** Somebody without a token may see it. Default: as the route's rule says. */
  readonly isOpen?: boolean
  /** Calling it twice with the same arguments is done once: it takes keys. */
  readonly isKeyed: boolean
}

/** Why a route is no tool, with what to do. */
export interface ToolFault {
  readonly message: string
  readonly remedy: string
}

/** Letters that names of tools consist of. */
const goodName = /^[\w.-]{1,128}$/

export function toTool(
  route: RouteInfo,
  options: ToolOptions,
  { operations, schemas }: RouteDescriptions,
): RouteTool | ToolFault {
  const operation = operations.get(route) ?? { responses: {} }
  const name = options.name ?? operation.operationId ?? route.name
  if (!goodName.test(name))
    return {
      message: `is the tool ${JSON.stringify(name)}`,
      remedy: "Use letters, digits, _, - and .: @Tool({ name: 'closeTicket' }).",
    }
  const input = readInput(operation, schemas)
  if ('message' in input) return input
  const { title = operation.summary, description = operation.description } = options
  const output = outputOf(operation, schemas)
  const told = {
    name,
    ...(title !== undefined && { title }),
    ...((description ?? title) !== undefined && { description: description ?? title }),
    inputSchema: input.schema,
    ...(output && { outputSchema: output }),
    annotations: hintsOf(route, operation),
  }
  const { places, required, wholeBody, hasBody, takesPaths } = input
  const isKeyed = takesKeys(operation)
  return { route, name, told, places, required, wholeBody, hasBody, takesPaths, isKeyed }
}

interface Input {
  readonly schema: Members
  readonly places: ReadonlyMap<string, Place>
  readonly required: readonly string[]
  readonly wholeBody: boolean
  readonly hasBody: boolean
  readonly takesPaths: boolean
}

/** `account.owner.name.like` */
export const dottedPath = /^\w+(?:\.\w+)+$/

function readInput(operation: Operation, schemas: Schemas): Input | ToolFault {
  const properties: Record<string, unknown> = {}
  const places = new Map<string, Place>()
  const required: string[] = []
  let clash: string | undefined
  const add = (name: string, place: Place, schema: unknown, isRequired: boolean): void => {
    if (places.has(name)) clash ??= name
    places.set(name, place)
    Object.defineProperty(properties, name, { value: schema, enumerable: true })
    if (isRequired) required.push(name)
  }
  for (const parameter of operation.parameters ?? []) {
    if (!('in' in parameter) || (parameter.in !== 'path' && parameter.in !== 'query')) continue
    const { name, in: place, schema, content, description, required: isRequired } = parameter
    const plain = asJson(schema ?? content?.['application/json']?.schema ?? {})
    add(name, place, { ...plain, ...(description && { description }) }, isRequired === true)
  }
  const body = readBody(operation, schemas)
  if (body === 'other')
    return {
      message: 'takes a body that is no JSON, which agents do not send',
      remedy: 'Give it a JSON body, or write @Tool(false) before it.',
    }
  if (body?.fields === undefined) {
    if (body !== undefined) add('body', 'body', body.schema, body.required)
  } else {
    for (const [name, schema] of Object.entries(body.fields))
      add(name, 'body', schema, body.needed.includes(name))
  }
  if (clash !== undefined)
    return {
      message: `has ${clash} twice, of which a tool's arguments can have one`,
      remedy: 'Call one of them otherwise.',
    }
  // Only records' filters have names with dots.
  const takesPaths = [...places].some(([name, place]) => place === 'query' && name.includes('.'))
  const patternProperties = takesPaths ? { patternProperties: behindRelations } : {}
  const flat = { type: 'object', properties, ...patternProperties, required }
  const closed = { ...flat, additionalProperties: false }
  const schema = withOwnDefinitions(closed as never, schemas) as Members
  const { wholeBody, hasBody } = { wholeBody: body !== undefined && !body.fields, hasBody: !!body }
  return { schema: tidy(schema), places, required, wholeBody, hasBody, takesPaths }
}

const behindRelations = {
  [dottedPath.source]: { description: 'A field behind a relation, with its operator.' },
}

/** An empty list of what is required says nothing. */
function tidy({ required, ...schema }: Members): Members {
  return Array.isArray(required) && required.length > 0 ? { ...schema, required } : schema
}

interface Body {
  readonly schema: unknown
  readonly required: boolean
  /** Of an object; undefined where it is something else. */
  readonly fields: Members | undefined
  readonly needed: readonly string[]
}

/** @returns undefined where none is read, `'other'` where it is no JSON */
function readBody(operation: Operation, schemas: Schemas): Body | 'other' | undefined {
  const { requestBody } = operation
  if (requestBody === undefined || !('content' in requestBody)) return undefined
  const { content, required = false } = requestBody
  const media = content['application/json'] ?? content['*/*']
  if (media === undefined) return 'other'
  const schema: unknown = media.schema ?? {}
  const whole = resolve(schema, schemas)
  const fields =
    whole.type === 'object' && isMembers(whole.properties) ? whole.properties : undefined
  const needed = Array.isArray(whole.required) ? (whole.required as string[]) : []
  return { schema, required, fields: fields && isClosed(whole) ? fields : undefined, needed }
}

/** Other keys could not be told from the query's. */
function isClosed({ properties }: Members): boolean {
  return isMembers(properties) && Object.keys(properties).length > 0
}

function resolve(schema: unknown, schemas: Schemas): Members {
  if (!isMembers(schema)) return {}
  const { $ref } = schema
  if (typeof $ref !== 'string') return schema
  return (schemas[$ref.replace(/^.*\//, '')] ?? {}) as Members
}

/** A query says truth as text, `true` or `1`; JSON has a value for it. */
function asJson(schema: object): Members {
  const { anyOf, ...said } = schema as Members
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema as Members
  const [value, digit] = anyOf as Members[]
  const isDigit = Array.isArray(digit?.enum) && digit.enum.every((one) => one === 0 || one === 1)
  return isDigit && value?.type === 'boolean' ? { ...value, ...said } : (schema as Members)
}

/** Of the one successful answer that is declared, where it is an object. */
function outputOf({ responses = {} }: Operation, schemas: Schemas): Members | undefined {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'))
  const [success, ...others] = successes
  if (success === undefined || others.length > 0) return undefined
  const [, answer] = success as [string, unknown]
  if (!isMembers(answer) || !isMembers(answer.content)) return undefined
  const media = answer.content['application/json']
  const schema = isMembers(media) ? media.schema : undefined
  if (!isMembers(schema) || resolve(schema, schemas).type !== 'object') return undefined
  return withOwnDefinitions(schema, schemas) as Members
}

function hintsOf({ method }: RouteInfo, operation: Operation): Members {
  if (method === 'GET') return { readOnlyHint: true, openWorldHint: false }
  const idempotentHint = method === 'PUT' || method === 'DELETE' || takesKeys(operation)
  return {
    readOnlyHint: false,
    destructiveHint: method === 'DELETE',
    idempotentHint,
    openWorldHint: false,
  }
}

/** `idempotent()` documents its header. */
function takesKeys({ parameters = [] }: Operation): boolean {
  return parameters.some(
    (one) => 'in' in one && one.in === 'header' && /^idempotency-key$/i.test(one.name),
  )
}
