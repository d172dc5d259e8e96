/** Writes the `errors` of a response. Source: decisions, GraphQL. */

import type { GraphQLError } from 'graphql'
import { type Log, fieldsOf, isDebugged } from '../core/log.js'
import { maxRepeatedLength } from '../core/text.js'
import { HttpError } from '../errors/http-error.js'
import { hasHiddenErrors, withoutHiddenErrors } from '../errors/field-errors.js'
import { graphqlLibrary } from './library.js'

/** The codes of error entries (`extensions.code`) that GraphQL adds to those of `HttpError`. */

/** Stable; messages may change. */
export const graphqlCodes = Object.freeze({
  /** The document is not valid GraphQL. */
  parse: 'GRAPHQL_PARSE_FAILED',
  /** The document does not fit the schema. */
  validation: 'GRAPHQL_VALIDATION_FAILED',
  /** Variables do not fit their declared types. */
  variables: 'BAD_VARIABLES',
  /** No operation of that name, or several and none named. */
  operation: 'OPERATION_NOT_FOUND',
  /** The request itself is not a GraphQL request: no `query`, a list, wrong parts. */
  request: 'BAD_REQUEST',
  /** A token is needed. */
  unauthenticated: 'UNAUTHENTICATED',
  /** The caller's token does not allow it. */
  forbidden: 'FORBIDDEN',
  /** A mutation came by GET. */
  method: 'METHOD_NOT_ALLOWED',
  /** A key that the parent value does not have. */
  unresolved: 'FIELD_NOT_RESOLVED',
  /** A resolver threw a `GraphQLError` without a code, or a value does not fit its scalar. */
  failed: 'EXECUTION_FAILED',
  /** A resolver failed, or gave what its type cannot show. */
  internal: 'INTERNAL_SERVER_ERROR',
  /** No persisted document has this id, or only persisted ones run. */
  persisted: 'PERSISTED_DOCUMENT_NOT_FOUND',
  /** No document with this hash was sent yet: the client is to send the text along. Apollo's name for it. */
  unknownHash: 'PERSISTED_QUERY_NOT_FOUND',
  /** A subscriber missed changes. */
  lost: 'EVENTS_LOST',
  bytes: 'DOCUMENT_TOO_LARGE',
  tokens: 'TOO_MANY_TOKENS',
  values: 'TOO_MANY_VALUES',
  depth: 'TOO_DEEP',
  aliases: 'TOO_MANY_ALIASES',
  rootFields: 'TOO_MANY_ROOT_FIELDS',
  cost: 'TOO_COSTLY',
})

/** A value that GraphQL's `Int` cannot hold: the client gets this code, and the log says what to do. */

/** A field of a record, as messages name it: `Product.price`. */
interface NamedField {
  readonly where: string
}

/** The fields that the log has named. */
const loggedFields = new WeakSet<NamedField>()

export class IntOverflow extends Error {
  readonly #field: NamedField
  readonly #value: string

  /** @param about details for the client, in addition to the message */
  constructor(field: NamedField, value: unknown, about: string) {
    const text = typeof value === 'bigint' ? String(value) : JSON.stringify(value)
    super(`Int cannot represent non 32-bit signed integer value: ${text}${about}`)
    this.#field = field
    this.#value = text
  }

  /** Names the field and the remedy, once in the life of a process; afterwards at debug. */
  log(log: Log): void {
    const field = this.#field
    const level = loggedFields.has(field) ? 'debug' : 'warn'
    loggedFields.add(field)
    log[level](
      { code: 'INT_OVERFLOW' },
      `${field.where} is ${this.#value}, which GraphQL's Int cannot hold: the answer has an error. Give the field max (or min) beyond 32 bits, @Field('integer', { max: Number.MAX_SAFE_INTEGER }), and it is Integer.`,
    )
  }
}

/** Messages of graphql-js, which repeat what the client sent and suggest names of the schema. */

/** A message with at most `mostRepeated` quoted characters may have as many others. */
const longestMessage = 2 * maxRepeatedLength
const longestEnd = 50

/** Shortens what a message repeats: names in quotation marks, and values, which may have none. */
function clipMessage(message: string): string {
  if (message.length <= maxRepeatedLength) return message
  let remaining = maxRepeatedLength
  const clipped = message.replace(/"(?:[^"\\]|\\.)*"/g, (quoted) => {
    const length = quoted.length - 2
    const keptLength = Math.min(remaining, length)
    remaining -= keptLength
    return keptLength === length
      ? quoted
      : `${withoutHalfCharacter(quoted.slice(0, keptLength + 1))}…"`
  })
  if (clipped.length <= longestMessage) return clipped
  const start = withoutHalfCharacter(clipped.slice(0, maxRepeatedLength - longestEnd))
  return `${start} … ${clipped.slice(-longestEnd).replace(/^[\uDC00-\uDFFF]/, '')}`
}

/** The message without its suggestion, if the suggestion names one of the fields. */
export function withoutSuggestion(message: string, fields: ReadonlySet<string>): string {
  if (fields.size === 0) return message
  const suggestion = / Did you mean [^?]*\?$/.exec(message)?.[0]
  if (suggestion === undefined) return message
  const names = suggestion.match(/\w+/g) ?? []
  return names.some((name) => fields.has(name)) ? message.slice(0, -suggestion.length) : message
}

function withoutHalfCharacter(text: string): string {
  return text.replace(/[\uD800-\uDBFF]$/, '')
}

/** One of a response's `errors`. */
export interface ErrorEntry {
  readonly message: string
  readonly locations?: readonly { readonly line: number; readonly column: number }[]
  /** Response keys as text, places in lists as integers. Execution errors only. */
  readonly path?: readonly (string | number)[]
  /** `code` is always there; `errors` are the fields of a refused input, as in REST. */
  readonly extensions: Readonly<Record<string, unknown>>
}

export interface EntryOptions {
  /** Send what resolvers throw as `Internal server error`; `HttpError` and `GraphQLError` are meant for clients. */
  readonly mask: boolean
  readonly log: Log
  /** What the lines of the log are about. */
  readonly request?: { readonly id: string }
}

/** The entries of an answer. The log gets one line for all of them, whatever the number of fields that failed. */
export function toErrorEntries(
  errors: readonly GraphQLError[],
  options: EntryOptions,
): ErrorEntry[] {
  logErrors(errors, options)
  return errors.map((error) => toErrorEntry(error, options))
}

function toErrorEntry(error: GraphQLError, { mask }: EntryOptions): ErrorEntry {
  const { message, extensions } = describe(error, mask)
  const { locations, path } = error
  return {
    message,
    ...(locations !== undefined && { locations }),
    ...(path !== undefined && { path }),
    extensions,
  }
}

function describe(error: GraphQLError, mask: boolean): Pick<ErrorEntry, 'message' | 'extensions'> {
  const { GraphQLError } = graphqlLibrary()
  const thrown = thrownIn(error)
  if (thrown instanceof HttpError) {
    const { message, status, errors } = withoutHiddenErrors(thrown)
    const code = status === 401 ? graphqlCodes.unauthenticated : thrown.code
    return { message, extensions: { code, ...(errors && { errors }) } }
  }
  if (thrown === undefined || thrown instanceof GraphQLError) {
    const { message, extensions } = thrown ?? error
    const text = thrown === undefined ? clipMessage(message) : message
    return { message: text, extensions: { code: graphqlCodes.failed, ...extensions } }
  }
  if (thrown instanceof IntOverflow)
    return { message: thrown.message, extensions: { code: graphqlCodes.failed } }
  const { internal: code } = graphqlCodes
  return { message: mask ? 'Internal server error' : error.message, extensions: { code } }
}

const maxLogged = 10

/** The first fault whole, of others their messages. */
function logErrors(errors: readonly GraphQLError[], { log, request }: EntryOptions): void {
  const failures = new Map<unknown, GraphQLError>()
  const refusals = new Map<string, GraphQLError>()
  let failed = 0
  for (const error of errors) {
    const thrown = thrownIn(error)
    if (thrown instanceof HttpError && hasHiddenErrors(thrown)) {
      log.warn({ err: thrown }, 'a fault of hidden fields was not told')
    }
    if (thrown instanceof IntOverflow) thrown.log(log)
    else if (isInternalError(thrown)) {
      failed++
      if (!failures.has(thrown?.message)) failures.set(thrown?.message, error)
    } else if (thrown instanceof HttpError) refusals.set(thrown.reason ?? thrown.message, error)
  }
  const [first] = [...failures.values()]
  if (first !== undefined) {
    const about = {
      ...requestFields(request),
      err: thrownIn(first),
      path: first.path?.join('.'),
      fields: failed,
    }
    const otherMessages = [...failures.keys()].slice(1, maxLogged)
    log.error(
      otherMessages.length === 0 ? about : { ...about, others: otherMessages },
      'a GraphQL resolver failed',
    )
  } else if (refusals.size > 0 && isDebugged(log)) {
    const listed = [...refusals].slice(0, maxLogged)
    const reasons = listed.map(([reason, { path }]) => `${path?.join('.') ?? ''}: ${reason}`)
    log.debug(
      { ...requestFields(request), reasons, fields: errors.length },
      'GraphQL fields refused',
    )
  }
}

function requestFields(request: EntryOptions['request']): object {
  return request === undefined ? {} : { ...fieldsOf(request), requestId: request.id }
}

/** What is no answer to the client, but a fault of the program or of what it needs. */
function isInternalError(thrown: Error | undefined): boolean {
  if (thrown === undefined || thrown instanceof graphqlLibrary().GraphQLError) return false
  return !(thrown instanceof HttpError) || thrown.status >= 500
}

/** What was thrown underneath the errors that only say where. */
export function thrownIn(error: GraphQLError): Error | undefined {
  const { GraphQLError } = graphqlLibrary()
  let inner: Error | undefined = error.originalError
  while (inner instanceof GraphQLError && inner.originalError !== undefined) {
    inner = inner.originalError
  }
  return inner
}

/** Only for instances outside an application, which have no other setting. */
export function isProduction(): boolean {
  return process.env.NODE_ENV === 'production'
}
