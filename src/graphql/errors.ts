/** Converts errors to the `errors` of a response and logs them. Source: decisions, GraphQL. */

import { hideShapes } from '../core/secrets.js'
import type { GraphQLError } from 'graphql'
import { type Log, fieldsOf, isDebugged } from '../core/log.js'
import { findClosingQuote, maxRepeatedLength } from '../core/text.js'
import { HttpError } from '../errors/http-error.js'
import { graphqlLibrary } from './library.js'

/** Error codes (`extensions.code`) in addition to the codes of `HttpError`. They are stable. Messages may change. */
export const graphqlCodes = Object.freeze({
  /** The document is not valid GraphQL. */
  parse: 'GRAPHQL_PARSE_FAILED',
  /** The document does not fit the schema. */
  validation: 'GRAPHQL_VALIDATION_FAILED',
  /** Variables do not fit their declared types. */
  variables: 'BAD_VARIABLES',
  /** The document has no operation of that name, or it has several and the request names none. */
  operation: 'OPERATION_NOT_FOUND',
  /** The request is not a GraphQL request: it has no `query`, is a list, or has parts of wrong types. */
  request: 'BAD_REQUEST',
  /** The operation requires a token. */
  unauthenticated: 'UNAUTHENTICATED',
  /** The access rule does not admit the caller's token. */
  forbidden: 'FORBIDDEN',
  /** A GET request contains a mutation. */
  method: 'METHOD_NOT_ALLOWED',
  /** A field has no resolver, and the parent value has no property of its name. */
  unresolved: 'FIELD_NOT_RESOLVED',
  /** A resolver threw a `GraphQLError` without a code, or a value is not valid for its scalar. */
  failed: 'EXECUTION_FAILED',
  /** A resolver threw an unexpected error, or returned a value that its type cannot represent. */
  internal: 'INTERNAL_SERVER_ERROR',
  /** There is no persisted document with this id, or the endpoint runs only persisted documents. */
  persisted: 'PERSISTED_DOCUMENT_NOT_FOUND',
  /** The server has no document with this hash, so that the client must send the text. The name is Apollo's. */
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

/** A field of a record for messages: `Product.price`. */
interface NamedField {
  readonly where: string
}

/** The fields for which a warning was logged. */
const loggedFields = new WeakSet<NamedField>()

/** A value that does not fit into the 32 bits of GraphQL's `Int`. */
export class IntOverflow extends Error {
  readonly #field: NamedField
  readonly #value: string

  /** @param about a text for the client, appended to the message */
  constructor(field: NamedField, value: unknown, about: string) {
    const text = typeof value === 'bigint' ? String(value) : JSON.stringify(value)
    super(`Int cannot represent non 32-bit signed integer value: ${text}${about}`)
    this.#field = field
    this.#value = text
  }

  /** Logs the field and what to do: the first time as a warning, afterwards at level debug. */
  log(log: Log): void {
    const field = this.#field
    const level = loggedFields.has(field) ? 'debug' : 'warn'
    loggedFields.add(field)
    log[level](
      { code: 'INT_OVERFLOW' },
      `${field.where} is ${this.#value}, which GraphQL's Int cannot hold, so the response has an error. To make the field an Integer, set a max (or min) beyond 32 bits: @Field('integer', { max: Number.MAX_SAFE_INTEGER }).`,
    )
  }
}

/** The maximum length of a message of graphql-js: the client's input that it quotes, and as much text of its own. */
const maxMessageLength = 2 * maxRepeatedLength
/** The characters of a longer message that remain at its end. */
const endLength = 50

/** Shortens the input that a message of graphql-js quotes. */
function clipMessage(message: string): string {
  if (message.length <= maxRepeatedLength) return message
  const clipped = clipQuotedTexts(message)
  if (clipped.length <= maxMessageLength) return clipped
  const start = withoutHalfCharacter(clipped.slice(0, maxRepeatedLength - endLength))
  return `${start} … ${clipped.slice(-endLength).replace(/^[\uDC00-\uDFFF]/, '')}`
}

function clipQuotedTexts(message: string): string {
  let remaining = maxRepeatedLength
  let clipped = ''
  let end = 0
  for (let start = message.indexOf('"'); start !== -1; start = message.indexOf('"', end)) {
    const close = findClosingQuote(message, start)
    if (close === -1) break
    const length = close - start - 1
    const visibleLength = Math.min(remaining, length)
    remaining -= visibleLength
    clipped += message.slice(end, start)
    clipped +=
      visibleLength === length
        ? message.slice(start, close + 1)
        : `${withoutHalfCharacter(message.slice(start, start + visibleLength + 1))}…"`
    end = close + 1
  }
  return clipped + message.slice(end)
}

/** Removes the suggestion ("Did you mean …?") from a message if it contains one of the names. */
export function withoutSuggestion(message: string, securedNames: ReadonlySet<string>): string {
  if (securedNames.size === 0) return message
  // Not a regular expression, because the message may repeat these words of a client many times.
  const start = message.endsWith('?') ? message.lastIndexOf(' Did you mean ') : -1
  if (start === -1) return message
  const names = message.slice(start).match(/\w+/g) ?? []
  return names.some((name) => securedNames.has(name)) ? message.slice(0, start) : message
}

function withoutHalfCharacter(text: string): string {
  return text.replace(/[\uD800-\uDBFF]$/, '')
}

/** An element of a response's `errors`. */
export interface ErrorEntry {
  readonly message: string
  readonly locations?: readonly { readonly line: number; readonly column: number }[]
  /** Response keys, and indexes in lists. Only errors of execution have a path. */
  readonly path?: readonly (string | number)[]
  /** Always has a `code`. `errors` are the validation errors of an input by field, as in REST. */
  readonly extensions: Readonly<Record<string, unknown>>
}

export interface EntryOptions {
  /** Hide the messages of unexpected errors from clients. `HttpError` and `GraphQLError` are never hidden. */
  readonly mask: boolean
  readonly log: Log
  /** The request for the lines of the log. */
  readonly request?: { readonly id: string }
}

/** Converts the errors of a response and logs them all in one line. */
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
    const { message, code, errors } = thrown.forClient()
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

/** Logs the first internal error with its stack, and only the messages of the next ones. */
function logErrors(errors: readonly GraphQLError[], { log, request }: EntryOptions): void {
  const failures = new Map<unknown, GraphQLError>()
  const refusals = new Map<string, GraphQLError>()
  let failed = 0
  for (const error of errors) {
    const thrown = thrownIn(error)
    if (thrown instanceof HttpError && thrown.hasHiddenErrors) {
      log.warn(
        { err: thrown },
        'a validation error of hidden fields was not reported to the client',
      )
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
    const otherMessages = [...failures.keys()]
      .slice(1, maxLogged)
      .map((message) => hideShapes(String(message)))
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

/** Whether the program or a system that it uses failed, rather than the client. */
function isInternalError(thrown: Error | undefined): boolean {
  if (thrown === undefined || thrown instanceof graphqlLibrary().GraphQLError) return false
  return !(thrown instanceof HttpError) || thrown.status >= 500
}

/** The error that a resolver threw, without the wrappers that add the location. */
export function thrownIn(error: GraphQLError): Error | undefined {
  const { GraphQLError } = graphqlLibrary()
  let inner: Error | undefined = error.originalError
  while (inner instanceof GraphQLError && inner.originalError !== undefined) {
    inner = inner.originalError
  }
  return inner
}
