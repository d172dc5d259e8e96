/**
 * Describes a GraphQL endpoint as a path of the OpenAPI document. Only the HTTP part is described: GraphQL has its own
 * schema.
 */
import type {
  ContentObject,
  OperationObject,
  ParameterObject,
  PathItemObject,
  ResponseObject,
  ResponsesObject,
  SchemaObject,
  SecurityRequirementObject,
} from 'openapi3-ts/oas31'
import { waysIn, type AccessRule } from '../auth/access.js'
import { errorContent, errorResponses, type ErrorResponseName } from './error-components.js'

export interface DocumentedEndpoint {
  /** `/graphql`, without the application's prefix. */
  readonly path: string
  /** The rule for all requests; mutations need a token in addition. */
  readonly read: AccessRule
}

/** Only 3.2 can describe the items of a stream. */
export type OpenApiVersion = '3.1' | '3.2'

/**
 * `POST` runs an operation, `GET ?query=` one without mutations; without a query a browser gets the IDE.
 *
 * @param number distinguishes the endpoints of an application: `graphql`, `graphql2`
 * @param schemes names of the security schemes by which a token may be sent
 */
export function graphqlPath(
  { read }: DocumentedEndpoint,
  number: number,
  { version, schemes }: { readonly version: OpenApiVersion; readonly schemes: readonly string[] },
): PathItemObject {
  const name = number === 1 ? 'graphql' : `graphql${number}`
  const by = (roles: readonly string[]): SecurityRequirementObject[] =>
    schemes.map((name) => ({ [name]: [...roles] }))
  const token = read.open ? [{}, ...by([])] : waysIn(read).flatMap(by)
  const shared = { tags: ['GraphQL'], responses: endpointResponses(version), security: token }
  const post: OperationObject = {
    ...shared,
    operationId: `${name}Run`,
    summary: 'Run a GraphQL operation',
    description:
      'Queries read; mutations need a token unless they say otherwise. The records that queries without a token can read are in `x-open-records`.',
    requestBody: { required: true, content: { 'application/json': { schema: request } } },
  }
  const get: OperationObject = {
    ...shared,
    operationId: `${name}Ask`,
    summary: 'Run a GraphQL query, or open the IDE',
    description: 'Without `query` a browser gets the IDE as a page.',
    parameters: ['query', 'operationName', 'variables', 'extensions', 'documentId'].map(parameter),
  }
  return { get, post }
}

const request: SchemaObject = {
  type: 'object',
  properties: {
    query: { type: 'string', description: 'The document; not needed for a persisted one.' },
    operationName: { type: ['string', 'null'] },
    variables: { type: ['object', 'null'] },
    extensions: { type: ['object', 'null'] },
    documentId: { type: 'string', description: 'The id of a persisted document.' },
  },
}

const result: SchemaObject = {
  type: 'object',
  properties: {
    data: { type: ['object', 'null'] },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          message: { type: 'string' },
          path: { type: 'array', items: { type: ['string', 'integer'] } },
          extensions: { type: 'object', properties: { code: { type: 'string' } } },
        },
        required: ['message'],
      },
    },
  },
}

/** One event of a subscription, sent as a server-sent event. */
const event: SchemaObject = {
  type: 'object',
  properties: {
    event: { type: 'string', enum: ['next', 'complete'] },
    data: { type: 'string', contentMediaType: 'application/json' },
  },
}

function parameter(name: string): ParameterObject {
  return { name, in: 'query', required: false, schema: { type: 'string' } }
}

function endpointResponses(version: OpenApiVersion): ResponsesObject {
  const stream = version === '3.2' ? { itemSchema: event } : { schema: { type: 'string' } }
  const content = {
    'application/json': { schema: result },
    'application/graphql-response+json': { schema: result },
    'text/event-stream': stream,
    'text/html': { schema: { type: 'string' } },
  } as ContentObject
  return {
    200: { description: 'The result of the operation, including its errors.', content },
    400: refusal('BadRequest'),
    401: refusal('Unauthorized'),
    default: refusal('Failure'),
  }
}

/** Errors that reject a complete operation have GraphQL's entries in addition to `error`, and no field errors. */
function refusal(name: ErrorResponseName): ResponseObject {
  const properties = {
    error: { type: 'string' },
    code: { type: 'string' },
    ...result.properties,
  }
  const schema = { ...result, properties }
  const content = {
    ...errorContent,
    'application/json': { schema },
    'application/graphql-response+json': { schema },
  } as ContentObject
  return { ...errorResponses[name], content }
}
