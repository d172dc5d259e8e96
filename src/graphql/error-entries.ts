/** Writes the `errors` of a response. Source: decisions, GraphQL, "Error entries" and "Resolver throws". */
import type { GraphQLError } from 'graphql'
import { HttpError } from '../errors/http-error.js'
import { hasUntold, withoutUntold } from '../errors/field-errors.js'
import { fieldsOf, isDebugged, type Log } from '../core/log.js'
import { clipMessage } from './safe-message.js'
import { graphqlCodes } from './error-codes.js'
import { IntOverflow } from './int-overflow.js'
import { graphqlLibrary } from './library.js'

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
  tell(errors, options)
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
    const { message, status, errors } = withoutUntold(thrown)
    const code = status === 401 ? graphqlCodes.unauthenticated : thrown.code
    return { message, extensions: { code, ...(errors && { errors }) } }
  }
  if (thrown === undefined || thrown instanceof GraphQLError) {
    const { message, extensions } = thrown ?? error
    const told = thrown === undefined ? clipMessage(message) : message
    return { message: told, extensions: { code: graphqlCodes.failed, ...extensions } }
  }
  if (thrown instanceof IntOverflow)
    return { message: thrown.message, extensions: { code: graphqlCodes.failed } }
  const { internal: code } = graphqlCodes
  return { message: mask ? 'Internal server error' : error.message, extensions: { code } }
}

const mostTold = 10

/** The first fault whole, of others their messages. */
function tell(errors: readonly GraphQLError[], { log, request }: EntryOptions): void {
  const faults = new Map<unknown, GraphQLError>()
  const refusals = new Map<string, GraphQLError>()
  let failed = 0
  for (const error of errors) {
    const thrown = thrownIn(error)
    if (thrown instanceof HttpError && hasUntold(thrown)) {
      log.warn({ err: thrown }, 'a fault of hidden fields was not told')
    }
    if (thrown instanceof IntOverflow) thrown.tell(log)
    else if (isFault(thrown)) {
      failed++
      if (!faults.has(thrown?.message)) faults.set(thrown?.message, error)
    } else if (thrown instanceof HttpError) refusals.set(thrown.reason ?? thrown.message, error)
  }
  const [first] = [...faults.values()]
  if (first !== undefined) {
    const about = {
      ...whose(request),
      err: thrownIn(first),
      path: first.path?.join('.'),
      fields: failed,
    }
    const others = [...faults.keys()].slice(1, mostTold)
    log.error(others.length === 0 ? about : { ...about, others }, 'a GraphQL resolver failed')
  } else if (refusals.size > 0 && isDebugged(log)) {
    const told = [...refusals].slice(0, mostTold)
    const reasons = told.map(([reason, { path }]) => `${path?.join('.') ?? ''}: ${reason}`)
    log.debug({ ...whose(request), reasons, fields: errors.length }, 'GraphQL fields refused')
  }
}

function whose(request: EntryOptions['request']): object {
  return request === undefined ? {} : { ...fieldsOf(request), requestId: request.id }
}

/** What is no answer to the client, but a fault of the program or of what it needs. */
function isFault(thrown: Error | undefined): boolean {
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
