/**
 * The routes of a running application, for modules that offer them by another protocol: their descriptions, their
 * access rules, and a way to call them. A call is an internal request with the complete pipeline of its route: gate,
 * limits, interceptors, checks, policy, log and metrics. It is not routed by its path.
 */
import type { OperationObject, SchemaObject } from 'openapi3-ts/oas31'
import { hasGuard } from '../auth/access.js'
import type { Gate } from '../auth/gate.js'
import { promise, type MaybePromise } from '../core/maybe-promise.js'
import { isStorable } from '../core/text.js'
import { HttpError } from '../errors/http-error.js'
import { FakeResponse, type InternalResponse } from '../http/in-memory/fake-response.js'
import { createInternalRequest } from '../http/in-memory/internal-request.js'
import type { HttpRequest, RequestAuth } from '../http/request.js'
import { setParsedBody } from '../http/bodies/read-body.js'
import { ServerRequest } from '../http/server-request.js'
import { everyMember, type VisibleMembers } from '../openapi/visible-members.js'
import { restType, type PathType, type Pattern } from '../routing/pattern.js'
import type { RouteInfo } from '../routing/route.js'
import type { Dispatcher } from './dispatcher.js'
import type { PlannedRoute } from './planned-route.js'
import type { ServedRoute } from './served-route.js'

/** The parameters, bodies and responses of routes, as in the OpenAPI document. */
export interface RouteDescriptions {
  readonly operations: ReadonlyMap<RouteInfo, OperationObject>
  /** The referenced components by name. */
  readonly schemas: Readonly<Record<string, SchemaObject>>
}

/** A call of a route. */
export interface RouteCall {
  /** Path parameters by name, as text. */
  readonly params?: Readonly<Record<string, string>> | undefined
  /** The query without `?`. */
  readonly query?: string | undefined
  /** Parsed JSON; undefined: none. */
  readonly body?: unknown
  /** Headers by lower-case name. They replace headers of the outer request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Called with the request before its pipeline. */
  readonly prepare?: ((request: HttpRequest) => void) | undefined
  /** Aborts the call, as if the client of the outer request had disconnected. */
  readonly signal?: AbortSignal | undefined
  /** The maximum size of the response in bytes. Default 8 MiB. */
  readonly maxBytes?: number
}

export interface RoutesParts {
  readonly planned: readonly PlannedRoute[]
  readonly describe: (routes: readonly RouteInfo[], visible: VisibleMembers) => RouteDescriptions
  readonly gate: Gate
  /** Available after the routes are served. */
  readonly serving: () => {
    readonly dispatcher: Dispatcher
    readonly served: ReadonlyMap<RouteInfo, ServedRoute>
  }
}

/** The part of `Routes` that exists before the application is started. */
export type DescribedRoutes = Pick<Routes, 'all' | 'describe'>

const defaultMaxBytes = 8 * 1024 * 1024

/** An application's routes: `static inject = [Routes]`. */
export class Routes {
  /** Public and internal routes, in the order of declaration. */
  readonly all: readonly RouteInfo[]
  readonly #parts: RoutesParts
  readonly #planned: ReadonlyMap<RouteInfo, PlannedRoute>
  /** By route, for routes that were called. */
  readonly #callPlans = new Map<RouteInfo, CallPlan>()

  constructor(parts: RoutesParts) {
    this.#parts = parts
    this.all = parts.planned.map(({ info }) => info)
    this.#planned = new Map(parts.planned.map((planned) => [planned.info, planned]))
  }

  /**
   * Creates the descriptions of routes at each call, so store the result.
   *
   * @param visible what they may name, such as `await visibleRecords(…)` for one caller. Default: everything
   */
  describe(
    routes: readonly RouteInfo[] = this.all,
    visible: VisibleMembers = everyMember,
  ): RouteDescriptions {
    return this.#parts.describe(routes, visible)
  }

  /** The access rule. Routes with the same rule admit the same callers. */
  ruleOf(route: RouteInfo): object {
    return this.#find(route).access
  }

  /** Whether the route requires no token. */
  isOpen(route: RouteInfo): boolean {
    return this.#find(route).access.open
  }

  /** Whether a guard decides about access, so that the result for one request does not apply to another. */
  usesGuard(route: RouteInfo): boolean {
    return hasGuard(this.#find(route).access)
  }

  /**
   * Checks the access rule of the route, including guards, without throwing.
   *
   * @param auth undefined for an anonymous caller
   * @returns synchronously unless a guard returns a promise
   */
  admits(
    route: RouteInfo,
    request: HttpRequest,
    auth: RequestAuth | undefined,
  ): boolean | Promise<boolean> {
    const { access } = this.#find(route)
    if (access.open) return true
    if (auth === undefined || !(request instanceof ServerRequest)) return false
    return this.#parts.gate.wouldAdmit(request, access, auth)
  }

  /**
   * Calls a route as the caller of `request`, with its headers except cookies and headers about its body.
   *
   * @returns synchronously if the pipeline of the route is
   * @throws {HttpError} 404 for invalid path parameters, 413 for a body over the route's limit
   * @throws {Error} if the response is cut off, endless, or too large
   */
  call(
    request: HttpRequest,
    route: RouteInfo,
    call: RouteCall = {},
  ): MaybePromise<InternalResponse> {
    const { body, prepare, signal, maxBytes = defaultMaxBytes, params = {}, query = '' } = call
    const { target, pattern, fixed, keepsBytes, limit } =
      this.#callPlans.get(route) ?? this.#open(route)
    const location = fixed ?? toLocation(pattern, params)
    if (target === undefined || location === undefined) throw invalidParams(pattern, params)
    if (body !== undefined && !(lengthOf(request) <= limit)) checkLength(body, limit)
    const defaults = body === undefined ? defaultHeaders : defaultHeadersWithBody
    const incoming = createInternalRequest(request.incoming, {
      method: route.method,
      url: query === '' ? location.path : `${location.path}?${query}`,
      headers: call.headers === undefined ? defaults : { ...defaults, ...call.headers },
    })
    const outgoing = new FakeResponse(maxBytes)
    if (signal?.aborted === true) outgoing.destroy()
    this.#parts.serving().dispatcher.serveInternal({
      incoming,
      outgoing,
      route: target,
      pathValues: location.values,
      parent: request,
      prepare: (inner) => {
        setParsedBody(inner, body, keepsBytes)
        prepare?.(inner)
      },
    })
    return outgoing.hasSettled() ? outgoing.collected() : untilAborted(request, outgoing, signal)
  }

  /** The data for calling a route. */
  #open(route: RouteInfo): CallPlan {
    const { route: declared, limits } = this.#find(route)
    const { pattern } = declared
    const target = this.#parts.serving().served.get(route)
    const callPlan = {
      target,
      pattern,
      fixed: pattern.names.length === 0 ? toLocation(pattern, {}) : undefined,
      keepsBytes: route.arguments.includes('rawBody'),
      limit: limits.body,
    }
    if (target !== undefined) this.#callPlans.set(route, callPlan)
    return callPlan
  }

  #find(route: RouteInfo): PlannedRoute {
    const found = this.#planned.get(route)
    if (found === undefined)
      throw new TypeError(`${route.name} is not a route of this application.`)
    return found
  }
}

interface CallPlan {
  readonly target: ServedRoute | undefined
  readonly pattern: Pattern
  /** The location of a route without path parameters. */
  readonly fixed: RouteLocation | undefined
  readonly keepsBytes: boolean
  /** The maximum size of the body in bytes. */
  readonly limit: number
}

const defaultHeaders = { accept: 'application/json, */*;q=0.5' }
const defaultHeadersWithBody = { ...defaultHeaders, 'content-type': 'application/json' }

/** The length of the outer request's body. */
function lengthOf({ incoming }: HttpRequest): number {
  return Number(incoming.headers['content-length'] ?? Infinity)
}

/** The body of a call may be within the route's limit although the outer message is larger. */
function checkLength(body: unknown, maxBytes: number): void {
  if (Buffer.byteLength(JSON.stringify(body)) > maxBytes)
    throw new HttpError(413, undefined, { reason: `the body is larger than ${maxBytes} bytes` })
}

/** Waits for the response, unless the client disconnects or cancels. */
function untilAborted(
  request: HttpRequest,
  outgoing: FakeResponse,
  signal: AbortSignal | undefined,
): MaybePromise<InternalResponse> {
  const leave = (): void => {
    outgoing.destroy()
  }
  request.onFinished(leave)
  if (signal === undefined) return outgoing.collected()
  signal.addEventListener('abort', leave, { once: true })
  return promise(() => outgoing.collected()).finally(() => {
    signal.removeEventListener('abort', leave)
  })
}

interface RouteLocation {
  readonly path: string
  readonly values: (string | number)[]
}

/** @returns undefined if a parameter is missing or invalid */
function toLocation(
  { segments }: Pattern,
  params: Readonly<Record<string, string>>,
): RouteLocation | undefined {
  const values: (string | number)[] = []
  let path = ''
  for (const segment of segments) {
    if (segment.kind === 'static') {
      path += `/${encodeURIComponent(segment.text)}`
      continue
    }
    const { name, type } = segment
    const text = textOf(params, name)
    const value = convert(type, text)
    if (value === undefined) return undefined
    values.push(value)
    const parts = type === restType ? text.split('/') : [text]
    path += type.isEncoded === true ? `/${text}` : `/${parts.map(encodeURIComponent).join('/')}`
  }
  return { path: path === '' ? '/' : path, values }
}

function textOf(params: Readonly<Record<string, string>>, name: string): string {
  return Object.hasOwn(params, name) ? (params[name] ?? '') : ''
}

/** @returns undefined if the text is not valid in a path or for the type */
function convert(type: PathType, text: string): string | number | undefined {
  return text !== '' && isStorable(text) ? type.convert(text) : undefined
}

function invalidParams({ segments }: Pattern, params: Readonly<Record<string, string>>): HttpError {
  const errors = segments.flatMap((segment) => {
    if (segment.kind === 'static') return []
    const { name, type } = segment
    if (convert(type, textOf(params, name)) !== undefined) return []
    return [{ path: name, code: 'type', message: `${name} must fit <${name}:${type.name}>` }]
  })
  return new HttpError(404, undefined, { reason: 'a path parameter does not fit', errors })
}
