/**
 * `idempotent()`, experimental: a write that is sent twice with one `Idempotency-Key` runs once, and both requests get its response.
 * Source: draft-ietf-httpapi-idempotency-key-header-07.
 */
import { createHash } from 'node:crypto'
import {
  type InterceptorClass,
  type RouteInfo,
  createModule,
  HttpError,
  reply,
  readSeconds,
  requestValue,
  findOptionProblems,
  type RouteResponse,
  type HttpRequest,
  type Interceptor,
  type Next,
} from '../../index.js'
import { inFlight, KeyStore, type ClaimedKey, type StoredResponse } from './key-store.js'

type Operation = Parameters<NonNullable<InterceptorClass['document']>>[0]

const content = {
  'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } },
  'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemBody' } },
}

const statusDescriptions = {
  '409':
    'The first request with this key has not been answered yet, or was done but its response is not stored, or the data conflict.',
  '422': 'The key was already used for a different request.',
}

/** Adds the header and its errors to the document. */
function documentKey(operation: Operation, { method }: RouteInfo): Operation {
  if (method === 'GET') return operation
  const existingResponses = (operation.responses ?? {}) as Record<string, unknown>
  const keyResponses = Object.fromEntries(
    Object.entries(statusDescriptions).map(([status, description]) => [
      status,
      existingResponses[status] ?? { description, content },
    ]),
  )
  const responses = Object.entries({ ...existingResponses, ...keyResponses }).sort(
    ([one], [other]) => one.localeCompare(other),
  )
  return {
    ...operation,
    parameters: [
      ...(operation.parameters ?? []),
      {
        name: 'Idempotency-Key',
        in: 'header',
        description:
          'If the same request is sent again with the same key, the first response is repeated.',
        schema: { type: 'string', minLength: 1, maxLength: 255 },
      },
    ],
    responses: Object.fromEntries(responses),
  }
}

export interface IdempotentOptions {
  /** How long a response can be repeated: seconds, or `'24h'`. Default `'24h'`. */
  keep?: number | string
}

/** The largest stored response, in bytes. */
const maxStoredBytes = 1024 * 1024

const sessionCookie = 'app_session'

/** Headers of a single response, which are not repeated. */
const perResponseHeaders = /^(?:x-request-id|date|server-timing|ratelimit.*|retry-after)$/i

/** Headers with credentials: a response with one of them is never stored. */
const credentialHeaders = ['set-cookie', 'freshtoken']

/** A request with a key, while it is served. */
interface KeyedRequest {
  readonly id: string
  /** Set for the first request with the key, whose response will be stored. */
  claimedKey: ClaimedKey | undefined
  /** The stored response that is repeated. */
  storedResponse: StoredResponse | undefined
}

const keyedOf = requestValue<KeyedRequest>('idempotency')

/** Applies to the writes of the importing module and of the modules that it imports. Experimental, like the draft. */
export const idempotent = createModule(function idempotent(options: IdempotentOptions = {}) {
  const seconds = readSeconds(options.keep ?? '24h')
  const lifetimeMs = seconds && seconds * 1000

  /** Runs after the gate, where the caller is known, and sees the complete response. */
  class StoreResponses implements Interceptor {
    static readonly inject = [KeyStore]
    static readonly before = 'body'
    static readonly document = documentKey
    readonly #keys: KeyStore

    constructor(keys: KeyStore) {
      this.#keys = keys
    }

    applies(route: RouteInfo): boolean {
      return isWrite(route)
    }

    async intercept(request: HttpRequest, next: Next): Promise<RouteResponse> {
      const key = readKey(request.headers['idempotency-key'])
      if (key === undefined) return next()
      const keyed: KeyedRequest = {
        id: idOf(request, key),
        claimedKey: undefined,
        storedResponse: undefined,
      }
      keyedOf.set(request, keyed)
      const response = await next()
      if (keyed.storedResponse !== undefined) return replay(response, keyed.storedResponse)
      if (keyed.claimedKey !== undefined) await this.#storeResult(keyed.claimedKey, response)
      return response
    }

    /** After a server error, only the row of the key shows whether the request has written. */
    #storeResult(key: ClaimedKey, response: RouteResponse): Promise<void> {
      const { status } = response
      if (status >= 200 && status < 300)
        return this.#keys.store(key, toStoredResponse(response), lifetimeMs ?? 0)
      return this.#keys.release(key, status < 500)
    }
  }

  /** Runs before the handler, where the body is known. */
  class ClaimKeys implements Interceptor {
    static readonly inject = [KeyStore]
    readonly #keys: KeyStore

    constructor(keys: KeyStore) {
      this.#keys = keys
    }

    applies(route: RouteInfo): boolean {
      return isWrite(route)
    }

    async intercept(request: HttpRequest, next: Next): Promise<unknown> {
      const keyed = keyedOf.get(request)
      if (keyed === undefined) return next<unknown>()
      const hash = hashOf(request)
      const claim = await this.#keys.claim(keyed.id, hash)
      if (claim.state === 'claimed') {
        keyed.claimedKey = claim.key
        this.#keys.markWrites(request, claim.key, lifetimeMs ?? 0)
        return next<unknown>()
      }
      if (claim.hash !== hash) throw keyReused()
      if (claim.state === 'running') throw inFlight()
      if (claim.state === 'done') throw notStored()
      keyed.storedResponse = claim.response
      return reply(null, 204)
    }
  }
  return {
    providers: [KeyStore],
    problems: findOptionProblems('idempotent', options, {
      keep: [
        (value) => readSeconds(value) !== undefined,
        "Write seconds, or a time such as '24h'.",
      ],
    }),
    use: [StoreResponses, ClaimKeys],
    cors: { allowedHeaders: ['Idempotency-Key'], exposedHeaders: ['Idempotent-Replayed'] },
  }
})

function isWrite({ method }: RouteInfo): boolean {
  return method !== 'GET'
}

/** @throws {HttpError} 400 if it is empty or too long */
function readKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  // The draft quotes the key; many clients do not.
  const key = header.trim().replace(/^"(.*)"$/, '$1')
  if (key !== '' && key.length <= 255) return key
  throw new HttpError(400, 'Idempotency-Key must have 1 to 255 characters.', {
    code: 'IDEMPOTENCY_KEY',
  })
}

/** Claims that describe the token and do not affect rights. */
const tokenClaims: ReadonlySet<string> = new Set(['exp', 'iat', 'nbf', 'auth_time', 'jti'])

function idOf(request: HttpRequest, key: string): string {
  const { method, path } = request
  return sha256(JSON.stringify([callerOf(request), method, path, key]))
}

/** Anonymous callers are distinguished by address, by session, and by credentials that the route reads itself. */
function callerOf({ auth, user, ip, cookies, headers }: HttpRequest): unknown[] {
  if (auth?.by === 'key') return ['operator']
  if (user === null) {
    const authorization = auth === undefined ? headers.authorization : undefined
    return ['visitor', ip, cookies[sessionCookie], authorization]
  }
  const claims = Object.entries(user).filter(([claim]) => !tokenClaims.has(claim))
  return claims.sort(([one], [other]) => (one < other ? -1 : 1))
}

function hashOf({ path, query, body, files, headers, route }: HttpRequest): string {
  const fileDetails = Object.entries(files).map(([name, file]) => [
    name,
    ...[file].flat().map(({ name: filename, size, type }) => [filename, size, type]),
  ])
  const bytes = body instanceof Uint8Array ? body : undefined
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  const jsonBody = bytes === undefined ? body : null
  // A handler with this argument may identify its caller by cookies.
  const cookie = route?.arguments.includes('cookies') === true ? headers.cookie : undefined
  const head = JSON.stringify(
    // Versions of a route share a path.
    [route?.name, path, query, type, jsonBody, fileDetails, cookie],
    (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value),
  )
  return sha256(head, bytes)
}

function sha256(text: string, bytes: Uint8Array = new Uint8Array()): string {
  return createHash('sha256').update(text).update(bytes).digest('base64url')
}

/** @returns undefined for responses that cannot be repeated: streams, very long ones, and responses with credentials */
function toStoredResponse({ status, headers, body }: RouteResponse): StoredResponse | undefined {
  if (credentialHeaders.some((name) => headers.get(name) !== undefined)) return undefined
  if (body !== null && typeof body !== 'string' && !(body instanceof Uint8Array)) return undefined
  if (body !== null && body.length > maxStoredBytes) return undefined
  return { status, headers: [...headers].filter(([name]) => !perResponseHeaders.test(name)), body }
}

function replay(response: RouteResponse, { status, headers, body }: StoredResponse): RouteResponse {
  const repeated = response.withBody(body, status)
  for (const [name] of headers) repeated.headers.delete(name)
  // Appended one by one: `Vary` and `Link` may occur more than once.
  for (const [name, value] of headers) repeated.headers.append(name, value)
  repeated.headers.set('Idempotent-Replayed', 'true')
  return repeated
}

function keyReused(): HttpError {
  return new HttpError(422, 'This Idempotency-Key was already used for a different request.', {
    code: 'IDEMPOTENCY_KEY_REUSED',
  })
}

function notStored(): HttpError {
  return new HttpError(
    409,
    'The first request with this Idempotency-Key was done, but its response is not stored.',
    { code: 'IDEMPOTENCY_DONE' },
  )
}
