/** A GraphQL endpoint as a path of the document. Its schema is GraphQL's own; here stands what HTTP carries. */
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
import type { AccessRule } from '../auth/access.js'
import { errorContent, errorResponses, type ErrorResponse } from './error-components.js'

export interface DocumentedEndpoint {
  /** `/graphql`, without the application's prefix. */
  readonly path: string
  /** Who may ask; writes need a token beyond that. */
  readonly read: AccessRule
}

/** How the document says what a stream holds: only 3.2 has words for its items. */
export type OpenApiVersion = '3.1' | '3.2'

/**
 * `POST` runs an operation, `GET ?query=` one that writes nothing; without a query a browser gets the IDE.
 *
 * @param number tells the endpoints of one application apart: `graphql`, `graphql2`
 */
export function graphqlPath(
  { read }: DocumentedEndpoint,
  number: number,
  version: OpenApiVersion,
): PathItemObject {
  const name = number === 1 ? 'graphql' : `graphql${number}`
  const token: SecurityRequirementObject[] = read.open
    ? [{}, { bearerAuth: [] }]
    : [{ bearerAuth: [...read.roles] }]
  const shared = { tags: ['GraphQL'], responses: answers(version), security: token }
  const post: OperationObject = {
    ...shared,
    operationId: `${name}Run`,
    summary: 'Run a GraphQL operation',
    description: 'Queries read; mutations need a token unless they say otherwise.',
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
    query: { type: 'string', description: 'The document; it may be left out for a persisted one.' },
    operationName: { type: ['string', 'null'] },
    variables: { type: ['object', 'null'] },
    extensions: { type: ['object', 'null'] },
    documentId: { type: 'string', description: 'Of a persisted document.' },
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

/** One event of a subscription, as Server-sent events carry it. */
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

function answers(version: OpenApiVersion): ResponsesObject {
  const stream = version === '3.2' ? { itemSchema: event } : { schema: { type: 'string' } }
  const content = {
    'application/json': { schema: result },
    'application/graphql-response+json': { schema: result },
    'text/event-stream': stream,
    'text/html': { schema: { type: 'string' } },
  } as ContentObject
  return {
    200: { description: 'What the operation gives, its errors among it.', content },
    400: refusal('BadRequest'),
    401: refusal('Unauthorized'),
    default: refusal('Failure'),
  }
}

/** What refuses an operation as a whole carries GraphQL's entries beside `error`: they are no faults of fields. */
function refusal(name: ErrorResponse): ResponseObject {
  const schema = { ...result, properties: { error: { type: 'string' }, ...result.properties } }
  const content = {
    ...errorContent,
    'application/json': { schema },
    'application/graphql-response+json': { schema },
  } as ContentObject
  return { ...errorResponses[name], content }
}
