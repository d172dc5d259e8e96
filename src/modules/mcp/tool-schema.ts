/**
 * The schema of a tool: path, query and body of a route become one flat, closed object, so that a model need not know which part goes where.
 * The output is described if the route declares an object.
 */
import {
  withLocalDefinitions,
  type RouteDescriptions,
  type RouteInfo,
  type VisibleMembers,
} from '../../index.js'
import type { ToolOptions } from './decorators.js'
import { isJsonObject, type JsonObject } from './protocol.js'

type DescribedOperation = NonNullable<ReturnType<RouteDescriptions['operations']['get']>>
type Schemas = RouteDescriptions['schemas']

/** The part of a request that an argument belongs to. */
export type ArgumentLocation = 'path' | 'query' | 'body'

/** A route that is a tool. */
export interface RouteTool {
  readonly route: RouteInfo
  readonly options: ToolOptions
  readonly name: string
  /** The entry of `tools/list` for callers who see everything. */
  readonly description: JsonObject
  readonly annotations: JsonObject
  readonly locations: ReadonlyMap<string, ArgumentLocation>
  /** The key of several fields in the path, whose fields are arguments. */
  readonly key: KeyArguments | undefined
  readonly required: readonly string[]
  /** True if the whole body is the argument `body`, because it is not an object with known fields. */
  readonly hasBodyArgument: boolean
  readonly hasBody: boolean
  /**
   * True if dotted paths are query parameters: they filter by fields of related records, which the document does not list.
   */
  readonly takesDottedPaths: boolean
  /** True: visible without a token. Default: the rule of the route decides. */
  readonly isOpen?: boolean
  /** True if the route accepts an `Idempotency-Key`, so repeated calls run once. */
  readonly takesIdempotencyKey: boolean
}

export interface KeyArguments {
  /** The parameter of the path. */
  readonly parameter: string
  readonly parts: readonly string[]
  /** The parts that are fields of the body too. */
  readonly inBody: ReadonlySet<string>
}

/** Why a route cannot be a tool, and what to do. */
export interface ToolProblem {
  readonly message: string
  readonly remedy: string
}

/** The characters and length of a tool name. */
const toolNamePattern = /^[\w.-]{1,128}$/

export function toTool(
  route: RouteInfo,
  options: ToolOptions,
  descriptions: RouteDescriptions,
): RouteTool | ToolProblem {
  const { operations, schemas } = descriptions
  const operation = operations.get(route) ?? { responses: {} }
  const name = options.name ?? operation.operationId ?? route.name
  if (!toolNamePattern.test(name))
    return {
      message: `is the tool ${JSON.stringify(name)}`,
      remedy: "Use letters, digits, _, - and .: @Tool({ name: 'closeTicket' }).",
    }
  const input = readInput(operation, schemas)
  if ('message' in input) return input
  const annotations = hintsOf(route, operation)
  const takesIdempotencyKey = takesIdempotencyKeys(operation)
  const tool = { route, options, name, ...input.reading, annotations, takesIdempotencyKey }
  return { ...tool, description: describeTool(tool, descriptions) }
}

/**
 * The entry of `tools/list`.
 *
 * @param descriptions for the caller
 * @param visible what the texts of the options may name. Default: everything
 */
export function describeTool(
  { route, options, name, annotations }: Omit<RouteTool, 'description'>,
  { operations, schemas }: RouteDescriptions,
  visible?: VisibleMembers,
): JsonObject {
  const operation = operations.get(route) ?? { responses: {} }
  const input = readInput(operation, schemas)
  if ('message' in input) throw new Error(input.message)
  const textOf = (text: string | undefined): string | undefined =>
    route.record === undefined || visible === undefined ? text : visible.textOf(route.record, text)
  const title = textOf(options.title) ?? operation.summary
  const description = textOf(options.description) ?? operation.description ?? title
  const output = outputOf(operation, schemas)
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema: toInputSchema(input, schemas),
    ...(output && { outputSchema: output }),
    annotations,
  }
}

interface Input {
  readonly properties: JsonObject
  /** How the arguments of a call are read. */
  readonly reading: Pick<
    RouteTool,
    'locations' | 'key' | 'required' | 'hasBodyArgument' | 'hasBody' | 'takesDottedPaths'
  >
}

/** `account.owner.name.like` */
export const dottedPath = /^\w+(?:\.\w+)+$/

function readInput(operation: DescribedOperation, schemas: Schemas): Input | ToolProblem {
  const properties: Record<string, unknown> = {}
  const locations = new Map<string, ArgumentLocation>()
  const required: string[] = []
  let duplicateName: string | undefined
  let key: (KeyArguments & { readonly inBody: Set<string> }) | undefined
  const add = (
    name: string,
    location: ArgumentLocation,
    schema: unknown,
    isRequired: boolean,
  ): void => {
    if (locations.has(name)) duplicateName ??= name
    locations.set(name, location)
    Object.defineProperty(properties, name, { value: schema, enumerable: true })
    if (isRequired) required.push(name)
  }
  for (const parameter of operation.parameters ?? []) {
    if (!('in' in parameter) || (parameter.in !== 'path' && parameter.in !== 'query')) continue
    const { name, in: location, schema, content, description, required: isRequired } = parameter
    const jsonSchema = toJsonSchema(schema ?? content?.['application/json']?.schema ?? {})
    const keySchemas = location === 'path' ? readKeySchemas(jsonSchema) : undefined
    if (keySchemas !== undefined) {
      key = { parameter: name, parts: [...keySchemas.keys()], inBody: new Set() }
      for (const [part, partSchema] of keySchemas) add(part, 'path', partSchema, true)
      continue
    }
    add(name, location, { ...jsonSchema, ...(description && { description }) }, isRequired === true)
  }
  const body = readBody(operation, schemas)
  if (body === 'other')
    return {
      message: 'has a body that is not JSON, which agents cannot send',
      remedy: 'Give it a JSON body, or write @Tool(false) before it.',
    }
  if (body?.fields === undefined) {
    if (body !== undefined) add('body', 'body', body.schema, body.required)
  } else {
    for (const [name, schema] of Object.entries(body.fields))
      if (key?.parts.includes(name) === true) key.inBody.add(name)
      else add(name, 'body', schema, body.requiredFields.includes(name))
  }
  if (duplicateName !== undefined)
    return {
      message: `has ${duplicateName} twice: the arguments of a tool need different names`,
      remedy: 'Rename one of them.',
    }
  // Only the filters of records have names with dots.
  const takesDottedPaths = [...locations].some(
    ([name, location]) => location === 'query' && name.includes('.'),
  )
  const hasBodyArgument = body !== undefined && body.fields === undefined
  const hasBody = body !== undefined
  return {
    properties,
    reading: { locations, key, required, hasBodyArgument, hasBody, takesDottedPaths },
  }
}

/** The schemas of the parts of a key in the path, by their names; undefined for another parameter. */
function readKeySchemas({ prefixItems }: JsonObject): Map<string, JsonObject> | undefined {
  if (!Array.isArray(prefixItems)) return undefined
  return new Map(
    (prefixItems as JsonObject[]).map(({ title, ...schema }) => [String(title), schema]),
  )
}

function toInputSchema(
  { properties, reading: { required, takesDottedPaths } }: Input,
  schemas: Schemas,
): JsonObject {
  const schema = {
    type: 'object',
    properties,
    ...(takesDottedPaths && { patternProperties: relationPathProperties }),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
  return withLocalDefinitions(schema as never, schemas) as JsonObject
}

const relationPathProperties = {
  [dottedPath.source]: { description: 'A field behind a relation, with its operator.' },
}

interface Body {
  readonly schema: unknown
  readonly required: boolean
  /** The fields of an object; undefined for other types. */
  readonly fields: JsonObject | undefined
  readonly requiredFields: readonly string[]
}

/** @returns undefined without a body, `'other'` if it is not JSON */
function readBody(operation: DescribedOperation, schemas: Schemas): Body | 'other' | undefined {
  const { requestBody } = operation
  if (requestBody === undefined || !('content' in requestBody)) return undefined
  const { content, required = false } = requestBody
  const media = content['application/json'] ?? content['*/*']
  if (media === undefined) return 'other'
  const schema: unknown = media.schema ?? {}
  const bodySchema = resolve(schema, schemas)
  const fields =
    bodySchema.type === 'object' && isJsonObject(bodySchema.properties)
      ? bodySchema.properties
      : undefined
  const requiredFields = Array.isArray(bodySchema.required) ? (bodySchema.required as string[]) : []
  return {
    schema,
    required,
    fields: fields && isClosed(bodySchema) ? fields : undefined,
    requiredFields,
  }
}

/** Unknown keys of an open object could not be distinguished from query parameters. */
function isClosed({ properties }: JsonObject): boolean {
  return isJsonObject(properties) && Object.keys(properties).length > 0
}

function resolve(schema: unknown, schemas: Schemas): JsonObject {
  if (!isJsonObject(schema)) return {}
  const { $ref } = schema
  if (typeof $ref !== 'string') return schema
  return (schemas[$ref.replace(/^.*\//, '')] ?? {}) as JsonObject
}

/** A query has booleans as text, `true` or `1`; JSON has booleans. */
function toJsonSchema(schema: object): JsonObject {
  const { anyOf, ...keywords } = schema as JsonObject
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema as JsonObject
  const [value, digit] = anyOf as JsonObject[]
  const isDigit = Array.isArray(digit?.enum) && digit.enum.every((one) => one === 0 || one === 1)
  return isDigit && value?.type === 'boolean' ? { ...value, ...keywords } : (schema as JsonObject)
}

/** The schema of the only successful response, if it is an object. */
function outputOf(
  { responses = {} }: DescribedOperation,
  schemas: Schemas,
): JsonObject | undefined {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'))
  const [success, ...otherSuccesses] = successes
  if (success === undefined || otherSuccesses.length > 0) return undefined
  const [, response] = success as [string, unknown]
  if (!isJsonObject(response) || !isJsonObject(response.content)) return undefined
  const media = response.content['application/json']
  const schema = isJsonObject(media) ? media.schema : undefined
  if (!isJsonObject(schema) || resolve(schema, schemas).type !== 'object') return undefined
  return withLocalDefinitions(schema, schemas) as JsonObject
}

function hintsOf({ method }: RouteInfo, operation: DescribedOperation): JsonObject {
  if (method === 'GET') return { readOnlyHint: true, openWorldHint: false }
  const idempotentHint = method === 'PUT' || method === 'DELETE' || takesIdempotencyKeys(operation)
  return {
    readOnlyHint: false,
    destructiveHint: method === 'DELETE',
    idempotentHint,
    openWorldHint: false,
  }
}

/** `idempotent()` documents this header. */
function takesIdempotencyKeys({ parameters = [] }: DescribedOperation): boolean {
  return parameters.some(
    (one) => 'in' in one && one.in === 'header' && /^idempotency-key$/i.test(one.name),
  )
}
