/**
 * Live queries of routes: lists and finds of `crud`, and handlers with `@Live`. A request that accepts events gets a
 * live query. Each of its runs calls the handler again, with the rule of its gate, its interceptors and the shape of
 * its response. Source: decisions, Live queries.
 */
import { hasGuard, type AccessRule } from '../auth/access.js'
import { after, type MaybePromise } from '../core/maybe-promise.js'
import { Problems } from '../errors/problems.js'
import { HttpError } from '../errors/http-error.js'
import { acceptsEventStream } from '../http/accept.js'
import { sourceEvents } from '../http/events.js'
import type { Reply } from '../http/reply.js'
import { toResponse, type ResultRule } from '../http/result.js'
import type { PreparedResponse } from '../http/route-response.js'
import type { ServerRequest } from '../http/server-request.js'
import { Live } from '../live/live.js'
import { type LiveQueries, rightsKey } from '../live/live-queries.js'
import type { LiveCaller } from '../live/live-listener.js'
import type { LiveQueryDefinition, RightsDepth, Within } from '../live/live-query.js'
import { rowEvents, rowsForm } from '../live/live-format.js'
import { readTable } from '../records/model/read-table.js'
import { checkAccess, requestCaller } from '../records/rights/caller.js'
import { trackRequest } from '../records/tracked-reads.js'
import { responseRights } from '../records/rights/secured-responses.js'
import type { RouteInterceptors } from './interceptors.js'
import type { Invoker } from './invoker.js'
import type { PlannedRoute } from './planned-route.js'

interface LiveRoute {
  readonly plan: PlannedRoute
  /** The method of the handler. */
  readonly handler: unknown
  readonly interceptors: RouteInterceptors
  /** The handler with its interceptors. */
  readonly invoke: Invoker
  readonly rule: ResultRule
}

let routes = 0

/** @param handler the method of the handler */
export function hasLiveQueries({ route, info }: PlannedRoute, handler: unknown): boolean {
  const isLive = responseRights(handler) !== undefined || info.metadata.get(Live) !== undefined
  return route.method === 'GET' && isLive
}

/** @returns `invoke` unchanged if the route has no live queries */
export function withLiveQueries(route: LiveRoute, live: LiveQueries): Invoker {
  const { plan, handler, invoke } = route
  if (!hasLiveQueries(plan, handler)) return invoke
  const { method, name, pattern } = plan.route
  const generated = responseRights(handler)
  // Versions of a route may be equal in everything else.
  const where = `${++routes} ${method} ${pattern.text} ${name}`
  // One for all listeners.
  const definition: LiveQueryDefinition = {
    owner: route,
    depth: rightsOf(route, generated),
    key: (depth, caller) => {
      const { sentPath, url } = requestOf(caller)
      return JSON.stringify([where, sentPath, url, rightsKey(caller, depth)])
    },
    form: rowsForm(keyFieldsOf(plan)),
    events: rowEvents,
    run: ({ caller }, runWithin) => runOnce(route, requestOf(caller), runWithin),
  }
  return (request) => (acceptsEventStream(request) ? open(request) : invoke(request))

  async function open(request: ServerRequest): Promise<Reply> {
    const { auth } = request.caller
    const { 'last-event-id': lastId } = request.incoming.headers
    const listener = await live.open(definition, {
      claims: auth?.claims,
      byKey: auth?.by === 'key',
      request,
      lastId: typeof lastId === 'string' ? lastId : undefined,
    })
    return sourceEvents(listener)
  }
}

function requestOf({ request }: LiveCaller): ServerRequest {
  if (request === undefined) throw new TypeError('A live query of a route has a request.')
  return request
}

/** The fields that are the key of the rows of a route of `crud` together; undefined for other keys. */
function keyFieldsOf({ info: { record } }: PlannedRoute): readonly string[] | undefined {
  if (record === undefined) return undefined
  const parts = readTable(record, new Problems())?.key.parts ?? []
  return parts.length === 0 ? undefined : parts.map(({ property }) => property)
}

/** The part of the caller that the handler may read. */
function rightsOf(
  { plan, interceptors }: LiveRoute,
  generated: RightsDepth | undefined,
): RightsDepth {
  const { route, access, checks, customArguments } = plan
  if (hasGuard(access) || interceptors.handler.length > 0 || checks.returnsForCaller !== undefined)
    return 'all'
  if (generated !== undefined) return generated
  const names = route.argumentNames.filter(
    (name) => !route.pattern.names.includes(name) && name !== 'query',
  )
  if (names.some((name) => customArguments.has(name))) return 'all'
  if (names.length === 0) return 'nothing'
  return names.every((name) => name === 'user') ? 'claims' : 'all'
}

/** Runs the handler once. @returns the JSON text of its result */
async function runOnce(
  { plan, invoke, rule }: LiveRoute,
  request: ServerRequest,
  runWithin: Within,
): Promise<string> {
  await runWithin(() => checkLiveAccess(plan.access, request))
  const result = await runWithin(() => invoke(request))
  const { returns } = plan.checks
  const response = toResponse(request, returns === undefined ? result : returns(result), rule)
  return after(response, (written) => {
    if (request.response.jsonDependsOnCaller) trackRequest()
    return toText(written)
  })
}

/** @throws {HttpError} 401 or 403 */
function checkLiveAccess(rule: AccessRule, request: ServerRequest): MaybePromise<void> {
  if (rule.open) return undefined
  return after(checkAccess(rule, requestCaller(request)), (result) => {
    if (result !== 'admitted') throw new HttpError(result === 'forbidden' ? 403 : 401)
  })
}

/** @throws {HttpError} if the handler responds with an error */
function toText({ status, list, body }: PreparedResponse): string {
  if (status >= 400) throw new HttpError(status)
  if (body === null) return 'null'
  if (typeof body !== 'string')
    throw new TypeError('A live query must return data or text. Remove @Live, or return data.')
  const isJson = list.first('Content-Type')?.startsWith('application/json') === true
  return isJson ? body : JSON.stringify(body)
}
