/**
 * Who runs an operation, read from the context that it was given. Source: decisions, GraphQL.
 */

import type { Database } from '../records/database.js'
import { hasReplicas, readAsOf } from '../records/request-caller.js'
import type { ExecutorOptions } from './executor.js'
import type { ClientWriting } from '../engines/contract/request-context.js'
import type { Claims, HttpRequest } from '../http/request.js'
import { ServerRequest } from '../http/server-request.js'
import type { Caller } from '../records/rights/caller.js'

/** Where operations read, of a database with replicas: queries alone may see what is some moments old. */

/** @returns a function that is called before each operation; `undefined` if all reads use the same database */
export function createReplicaPolicy(database: Database | undefined): ExecutorOptions['onRun'] {
  if (database === undefined || !hasReplicas(database)) return undefined
  return (type: string, context) => {
    // A mutation shows what it wrote, a subscription what has just happened.
    readAsOf(type === 'query' ? 'soon' : 'now', callerOf(context).request, database)
  }
}

/** The context of operations that come through the endpoint. */
export interface RequestContext {
  readonly request: HttpRequest
  /** Claims of the verified token; null for anonymous callers and for the operator's static key. */
  readonly user: Claims | null
}

const trustedProgram: Caller = Object.freeze({
  trusted: true,
  auth: undefined,
  user: null,
  request: undefined,
})

/** Reads the caller from what was given to `execute`. */
export function callerOf(context: unknown): Caller {
  if (typeof context !== 'object' || context === null) return trustedProgram
  const { user, request } = context as { user?: Claims | null; request?: HttpRequest }
  if (request === undefined && !('user' in context)) return trustedProgram
  const claims = user ?? request?.user ?? null
  const auth = request?.auth ?? (claims === null ? undefined : { by: 'token', claims })
  return { trusted: false, auth, user: claims, request }
}

/** The request that an operation came in; undefined for the program's. */
export function requestOf(context: unknown): HttpRequest | undefined {
  if (typeof context !== 'object' || context === null) return undefined
  return (context as { request?: HttpRequest }).request
}

/** The request whose time ends what its caller writes; undefined for the program, and for requests that others made. */
export function writingOf({ request }: Caller): ClientWriting | undefined {
  return request instanceof ServerRequest ? request : undefined
}
