/** Reads the caller of an operation from the context passed to `execute`. Source: decisions, GraphQL. */
import type { ClientWriting } from '../engines/contract/engine.js'
import type { Claims, HttpRequest } from '../http/request.js'
import { ServerRequest } from '../http/server-request.js'
import type { Database } from '../records/database.js'
import { hasReplicas, readAsOf } from '../records/request-caller.js'
import type { Caller } from '../records/rights/caller.js'

/**
 * Decides which operations may read from replicas, which lag behind the primary: only queries.
 *
 * @returns a function to call before each operation; `undefined` if the database has no replicas
 */
export function createReplicaPolicy(
  database: Database | undefined,
): ((type: string, context: unknown) => void) | undefined {
  if (database === undefined || !hasReplicas(database)) return undefined
  return (type, context) => {
    // A mutation returns the rows that it wrote, and a subscription the latest change.
    readAsOf(type === 'query' ? 'soon' : 'now', callerOf(context).request, database)
  }
}

/** The context of operations that the endpoint runs. */
export interface RequestContext {
  readonly request: HttpRequest
  /** Claims of the verified token. Null for anonymous callers and for the static key of the operator. */
  readonly user: Claims | null
}

const trustedProgram: Caller = Object.freeze({
  trusted: true,
  auth: undefined,
  user: null,
  request: undefined,
})

/** @param context the context of `execute`; without `user` and `request` the caller is the program itself */
export function callerOf(context: unknown): Caller {
  if (typeof context !== 'object' || context === null) return trustedProgram
  const { user, request } = context as { user?: Claims | null; request?: HttpRequest }
  if (request === undefined && !('user' in context)) return trustedProgram
  const claims = user ?? request?.user ?? null
  const auth = request?.auth ?? (claims === null ? undefined : { by: 'token', claims })
  return { trusted: false, auth, user: claims, request }
}

/** The HTTP request of an operation. `undefined` if the program runs it. */
export function requestOf(context: unknown): HttpRequest | undefined {
  if (typeof context !== 'object' || context === null) return undefined
  return (context as { request?: HttpRequest }).request
}

/**
 * The request whose time limit applies to writes. `undefined` for the program and for requests that it creates itself.
 */
export function writingOf({ request }: Caller): ClientWriting | undefined {
  return request instanceof ServerRequest ? request : undefined
}
