/**
 * The error responses, schemas and security schemes that all routes share, in the standard form or in the application's
 * own form of errors (`errors: { form, class }`). Source: decisions, Responses; RFC 9457.
 */
import type {
  OperationObject,
  ReferenceObject,
  ResponseObject,
  ContentObject,
  HeaderObject,
  SchemaObject,
  SecuritySchemeObject,
} from 'openapi3-ts/oas31'
import { HttpError } from '../errors/http-error.js'
import { formError, type ErrorFormat } from '../http/error-form.js'
import { ServerRequest } from '../http/server-request.js'
import { createIncoming } from '../http/in-memory/fake-request.js'
import { FakeResponse } from '../http/in-memory/fake-response.js'
import { resolveClass } from '../metadata/class.js'
import type { SchemaComponents } from './schemas.js'
import type { TokenSource } from '../auth/options.js'

/** Prefix for the names of responses in the application's form; packages use the responses of the standard form. */
const prefix = 'Own'

/** Rewrites the errors of an operation. */
type ChangeOperation = (operation: OperationObject) => OperationObject

export interface CustomErrors {
  readonly operation: ChangeOperation
  /** The responses of the document, by name. */
  readonly responses: Readonly<Record<string, ResponseObject>>
}

export function createCustomErrors(errors: ErrorFormat, schemas: SchemaComponents): CustomErrors {
  const type = resolveClass(errors.class)
  const schema = type === undefined ? {} : schemas.of({ type, list: false }, 'output')
  const content = { 'application/json': { schema } }
  const withCustomForm = (
    response: ResponseObject | ReferenceObject,
  ): ResponseObject | ReferenceObject => {
    if ('$ref' in response)
      return { $ref: response.$ref.replace('/responses/', `/responses/${prefix}`) }
    return response.content === errorContent ? { ...response, content } : response
  }
  const operation: ChangeOperation = (described) => {
    const before = Object.entries(described.responses ?? {}) as [string, ResponseObject][]
    const after = before.map(([status, response]): [string, ResponseObject | ReferenceObject] => {
      const isOurs = '$ref' in response && status !== 'default'
      const sent = isOurs ? String(statusOf(errors, Number(status))) : status
      // The response that the route itself declares for a status has precedence.
      const isTaken = sent !== status && before.some(([other]) => other === sent)
      return [isTaken ? status : sent, withCustomForm(response)]
    })
    return { ...described, responses: Object.fromEntries(after) }
  }
  const responses = Object.entries<ResponseObject>(errorResponses).map(
    ([name, response]): [string, ResponseObject] => [prefix + name, { ...response, content }],
  )
  return { operation, responses: Object.fromEntries(responses) }
}

/** The status to which the form converts a status. The same status if the form needs a real request. */
function statusOf({ form }: ErrorFormat, status: number): number {
  const errors = [{ path: 'name', code: 'required', message: 'name is required' }]
  const isInput = status === 400
  const error = new HttpError(status, undefined, isInput ? { code: 'VALIDATION', errors } : {})
  const incoming = createIncoming({ method: 'GET', url: '/', headers: [], body: undefined })
  try {
    return formError(
      form,
      error,
      new ServerRequest(incoming, new FakeResponse(), { trustProxy: false }),
    ).status
  } catch {
    return status
  }
}

/** Names of schemas that classes of the application must not have. */
export const reservedSchemas: ReadonlySet<string> = new Set([
  'ErrorBody',
  'ProblemBody',
  'FieldError',
])

/** The content of every error, as JSON or, for clients that accept it, as problem+json. */
export const errorContent: ContentObject = {
  'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } },
  'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemBody' } },
}

export type ErrorResponseName = keyof typeof errorResponses

/** Responses by name, for references. */
export const errorResponses = {
  BadRequest: {
    description: 'The request is invalid; `errors` lists every invalid field.',
    content: errorContent,
  },
  Unauthorized: {
    description: 'The token is missing or not valid.',
    headers: {
      'WWW-Authenticate': { description: 'The scheme to use.', schema: { const: 'Bearer' } },
    },
    content: errorContent,
  },
  Forbidden: {
    description: 'The token is valid, but does not allow this request.',
    content: errorContent,
  },
  NotFound: { description: 'The resource does not exist.', content: errorContent },
  TooLarge: { description: 'The body is larger than the route allows.', content: errorContent },
  UnsupportedMediaType: {
    description: 'The route does not accept bodies of this media type.',
    content: errorContent,
  },
  Failure: {
    description: 'Any other failure.',
    headers: {
      'Retry-After': {
        description: 'With 429 and 503: seconds to wait before sending the request again.',
        schema: { type: 'integer' },
      },
      'X-Request-Id': {
        description: 'With 5xx: the id of the request in the log.',
        schema: { type: 'string' },
      },
    },
    content: errorContent,
  },
} satisfies Record<string, ResponseObject>

/** A reference to one of these responses. */
export function errorReference(name: ErrorResponseName): { $ref: string } {
  return { $ref: `#/components/responses/${name}` }
}

export const errorSchemas: Readonly<Record<string, SchemaObject>> = {
  ErrorBody: {
    type: 'object',
    properties: {
      error: { type: 'string', description: 'What went wrong, for people.' },
      code: { type: 'string', description: 'The stable name of the error, for programs.' },
      errors: {
        type: 'array',
        items: { $ref: '#/components/schemas/FieldError' },
        description: 'The invalid fields of the input.',
      },
    },
    required: ['error', 'code'],
  },
  ProblemBody: {
    type: 'object',
    description: 'The same as problem details (RFC 9457).',
    properties: {
      type: { type: 'string', format: 'uri-reference' },
      title: { type: 'string' },
      status: { type: 'integer', minimum: 400, maximum: 599 },
      detail: { type: 'string' },
      code: { type: 'string', description: 'The stable name of the error.' },
      error: { type: 'string' },
      errors: { type: 'array', items: { $ref: '#/components/schemas/FieldError' } },
    },
    required: ['type', 'title', 'status', 'detail', 'code', 'error'],
  },
  FieldError: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Dotted, from the root of the body or query.' },
      code: { type: 'string', description: 'The name of the rule.' },
      message: { type: 'string' },
    },
    required: ['path', 'code', 'message'],
  },
}

/** On successful responses of routes that need a token: the client uses the new token from then on. */
export const freshToken: HeaderObject = {
  description: 'A new token, sent when the current one is past half of its lifetime.',
  schema: { type: 'string' },
}

export const bearerAuth: SecuritySchemeObject = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'A JSON Web Token signed with RS256, or the static key of the operator.',
}

/** For applications that read tokens from another source, too. @returns undefined if the source cannot be described */
export function tokenAuth({ scheme, location }: TokenSource): SecuritySchemeObject | undefined {
  if (scheme !== undefined) {
    const description = `The same token in \`Authorization: ${scheme} …\`: write the scheme, a space and the token.`
    return { type: 'apiKey', in: 'header', name: 'Authorization', description }
  }
  if (location === undefined) return undefined
  return { type: 'apiKey', ...location, description: 'The same token without a scheme.' }
}

/** For applications that also accept tokens in a cookie. */
export const cookieAuth = {
  type: 'apiKey',
  in: 'cookie',
  description:
    'The same token in a cookie, without the prefix __Host- over http. A write with the cookie must come from a page of the application.',
} as const
