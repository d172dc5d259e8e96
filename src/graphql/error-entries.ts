/** Writes the `errors` of a response. Source: decisions, GraphQL, "Error entries" and "Resolver throws". */
import type { GraphQLError } from 'graphql'
import { HttpError } from '../errors/http-error.js'
import { hasUntold, withoutUntold } from '../errors/untold-faults.js'
import type { Log } from '../core/log.js'
import { graphqlCodes } from './error-codes.js'
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
}

export function toErrorEntry(error: GraphQLError, options: EntryOptions): ErrorEntry {
  const { message, extensions } = describe(error, options)
  const { locations, path } = error
  return {
    message,
    ...(locations !== undefined && { locations }),
    ...(path !== undefined && { path }),
    extensions,
  }
}

function describe(
  error: GraphQLError,
  { mask, log }: EntryOptions,
): Pick<ErrorEntry, 'message' | 'extensions'> {
  const { GraphQLError } = graphqlLibrary()
  const thrown = thrownIn(error)
  if (thrown instanceof HttpError) {
    const { message, status, errors } = withoutUntold(thrown)
    if (hasUntold(thrown)) log.warn({ err: thrown }, 'a fault of hidden fields was not told')
    if (status >= 500) log.error({ err: thrown }, 'a GraphQL resolver failed')
    const code = status === 401 ? graphqlCodes.unauthenticated : thrown.code
    return { message, extensions: { code, ...(errors && { errors }) } }
  }
  if (thrown === undefined || thrown instanceof GraphQLError) {
    const { message, extensions } = thrown ?? error
    return { message, extensions: { code: graphqlCodes.failed, ...extensions } }
  }
  log.error({ err: thrown }, 'a GraphQL resolver failed')
  const { internal: code } = graphqlCodes
  return { message: mask ? 'Internal server error' : error.message, extensions: { code } }
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
