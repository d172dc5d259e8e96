/**
 * Identifies the caller of a request's statements, for a database with read replicas: by the session, the token or
 * the address. Source: docs/records/postgresql-in-production.md, Replicas.
 */
import { isMap, tryParseJson } from '../core/json.js'
import { withoutTracking } from '../http/caller-access.js'
import type { HttpRequest } from '../http/request.js'
import { ServerRequest } from '../http/server-request.js'
import type { Engine, EngineCaller, OtherProcesses } from '../engines/contract/engine.js'
import { isTracking } from './tracked-reads.js'

/** Methods that promise to change nothing. Source: RFC 9110, Safe Methods. */
const safe: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

const callers = new WeakMap<object, RequestCaller>()

/** The part of a database that this file needs. */
interface EngineOwner {
  readonly context: { readonly engine: Pick<Engine, 'requests'> }
}

/**
 * From now on each caller reads its own writes. Without this call, all work of this process counts as one caller.
 *
 * @returns whether the database has replicas, so that requests must be tracked
 */
export function followCallers(
  { context: { engine } }: EngineOwner,
  current: () => HttpRequest | undefined,
  otherProcesses?: OtherProcesses,
): boolean {
  const { requests } = engine
  if (requests.followCallers === undefined) return false
  requests.followCallers(() => {
    if (isTracking()) return freshReader
    const request = current()
    return request === undefined ? undefined : requestCaller(request)
  }, otherProcesses)
  return true
}

/** Live queries read the latest commits of all callers. */
const freshReader: EngineCaller = { isFresh: true, hasWritten: false, names: [], ownNames: [] }

export function hasReplicas({ context: { engine } }: EngineOwner): boolean {
  return engine.requests.followCallers !== undefined
}

/** From now on the request reads from the primary (`now`), or also from replicas (`soon`). */
export function readAsOf(
  freshness: 'now' | 'soon',
  request: HttpRequest | undefined,
  { context: { engine } }: EngineOwner,
): void {
  if (request === undefined || engine.requests.followCallers === undefined) return
  requestCaller(request).isFresh = freshness === 'now'
}

/** The caller of a request, the same for every call. */
function requestCaller(request: HttpRequest): RequestCaller {
  let caller = callers.get(request)
  if (caller === undefined) callers.set(request, (caller = new RequestCaller(request)))
  return caller
}

class RequestCaller implements EngineCaller {
  isFresh: boolean
  hasWritten = false
  readonly #request: HttpRequest
  #names: readonly string[] | undefined
  #ownNames: readonly string[] | undefined

  constructor(request: HttpRequest) {
    this.#request = request
    this.isFresh = !safe.has(request.method)
  }

  /** The address identifies callers who wrote without a token and have just signed in. */
  get names(): readonly string[] {
    return (this.#names ??= [...this.#signedIn(), this.#address()])
  }

  get ownNames(): readonly string[] {
    if (this.#ownNames === undefined) {
      const names = this.#signedIn()
      this.#ownNames = names.length > 0 ? names : [this.#address()]
    }
    return this.#ownNames
  }

  #signedIn(): string[] {
    return withoutTracking(this.#request, () => signedIn(this.#request))
  }

  #address(): string {
    return `address ${this.#request.ip}`
  }
}

function signedIn(request: HttpRequest): string[] {
  const { authorization, cookie } = request.incoming.headers
  const names: string[] = []
  if (authorization !== undefined) names.push(subjectOf(authorization))
  if (cookie === undefined) return names
  if (!(request instanceof ServerRequest)) return names
  const { cookieNames } = request
  const session = request.cookies[cookieNames.session]
  if (session !== undefined && session !== '') names.push(`session ${session.slice(0, 64)}`)
  for (const name of [cookieNames.token, cookieNames.secureToken]) {
    const token = request.cookies[name]
    if (token !== undefined && token !== '') names.push(subjectOf(token))
  }
  return names
}

/**
 * Public routes do not check the token. That is safe, because a forged token only causes reads from the primary. The
 * subject is used, because each response may carry a new token.
 */
function subjectOf(token: string): string {
  const claims = tryParseJson(Buffer.from(token.split('.', 2)[1] ?? '', 'base64url').toString())
  if (!isMap(claims)) return `token ${token.slice(-64)}`
  const { sub, jti } = claims
  return `subject ${(typeof sub === 'string' ? sub : JSON.stringify(sub ?? jti)).slice(0, 128)}`
}
