/** The answers that Filigree gives by itself, once for all routes. Source: decisions, Responses and "Errors"; RFC 9457. */
import { secureTokenCookie } from '../http/token-cookie.js'
import type {
  ContentObject,
  HeaderObject,
  ResponseObject,
  SchemaObject,
  SecuritySchemeObject,
} from 'openapi3-ts/oas31'

/** Names of schemas that no class of the application may take. */
export const reservedSchemas: ReadonlySet<string> = new Set([
  'ErrorBody',
  'ProblemBody',
  'FieldFault',
])

/** What every error carries, as JSON or, for who accepts it, as problem+json. */
export const errorContent: ContentObject = {
  'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } },
  'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemBody' } },
}

export type ErrorResponse = keyof typeof errorResponses

/** Answers by name, for references. */
export const errorResponses = {
  BadRequest: {
    description: 'What was sent is not what the route takes; `errors` names every fault.',
    content: errorContent,
  },
  Unauthorized: {
    description: 'The token is missing or not valid.',
    headers: {
      'WWW-Authenticate': { description: 'The scheme to use.', schema: { const: 'Bearer' } },
    },
    content: errorContent,
  },
  Forbidden: { description: 'The token is valid and does not let in here.', content: errorContent },
  NotFound: { description: 'There is no such thing.', content: errorContent },
  TooLarge: { description: 'The body is larger than the route takes.', content: errorContent },
  UnsupportedMediaType: {
    description: 'The route does not take bodies of this media type.',
    content: errorContent,
  },
  Failure: {
    description: 'Any other failure.',
    headers: {
      'Retry-After': {
        description: 'Seconds to wait before the request is sent again, of 429 and 503.',
        schema: { type: 'integer' },
      },
      'X-Request-Id': {
        description: 'What the failure is named by in the log, of 5xx.',
        schema: { type: 'string' },
      },
    },
    content: errorContent,
  },
} satisfies Record<string, ResponseObject>

/** A reference to one of them. */
export function errorReference(name: ErrorResponse): { $ref: string } {
  return { $ref: `#/components/responses/${name}` }
}

export const errorSchemas: Readonly<Record<string, SchemaObject>> = {
  ErrorBody: {
    type: 'object',
    properties: {
      error: { type: 'string', description: 'What went wrong, for people.' },
      errors: {
        type: 'array',
        items: { $ref: '#/components/schemas/FieldFault' },
        description: 'The single faults of an input.',
      },
    },
    required: ['error'],
  },
  ProblemBody: {
    type: 'object',
    description: 'The same as problem details (RFC 9457).',
    properties: {
      type: { type: 'string', format: 'uri-reference' },
      title: { type: 'string' },
      status: { type: 'integer', minimum: 400, maximum: 599 },
      detail: { type: 'string' },
      code: { type: 'string', description: 'A stable name of the error.' },
      error: { type: 'string' },
      errors: { type: 'array', items: { $ref: '#/components/schemas/FieldFault' } },
    },
    required: ['type', 'title', 'status', 'detail', 'code', 'error'],
  },
  FieldFault: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Dotted, from the root of the body or query.' },
      code: { type: 'string', description: 'The name of the rule.' },
      message: { type: 'string' },
    },
    required: ['path', 'code', 'message'],
  },
}

/** On successful answers of routes with a token: the client keeps it in the place of its own. */
export const freshToken: HeaderObject = {
  description: 'A new token, sent once the one in use is past half its life.',
  schema: { type: 'string' },
}

export const bearerAuth: SecuritySchemeObject = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'A JSON Web Token signed with RS256, or the static key of the operator.',
}

/** Where the application takes tokens from a cookie too. */
export const cookieAuth: SecuritySchemeObject = {
  type: 'apiKey',
  in: 'cookie',
  name: secureTokenCookie,
  description:
    'The same token in a cookie, without the prefix __Host- over http. A write by cookie has to come from a page of the application.',
}
