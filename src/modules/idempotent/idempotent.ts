/**
 * `idempotent()`, experimental: a write that is sent twice with one `Idempotency-Key` runs once, and both requests get its response.
 * Source: draft-ietf-httpapi-idempotency-key-header-07.
 */
import { createHash } from 'node:crypto'
import {
  addressKey,
  ApplicationState,
  Clock,
  Database,
  type InterceptorClass,
  type RouteInfo,
  createModule,
  HttpError,
  reply,
  requestValue,
  declareOptions,
  option,
  type OptionsOf,
  type RouteResponse,
  type HttpRequest,
  type Interceptor,
  type Next,
  type UploadedFile,
} from '../../index.js'
import { inFlight, KeyStore, type ClaimedKey, type StoredResponse } from './key-store.js'

type DocumentedOperation = Parameters<NonNullable<InterceptorClass['document']>>[0]

const content = {
  'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } },
  'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemBody' } },
}

const statusDescriptions = {
  '409':
    'The first request with this key has not been answered yet, or was done but its response is not stored, or the data conflict.',
  '422': 'The key was already used for a different request.',
  '429': 'The caller has used too many keys, or sends too many requests.',
}

/** Adds the header and its errors to the document. */
function documentKey(operation: DocumentedOperation, { method }: RouteInfo): DocumentedOperation {
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

const idempotentOptions = declareOptions({
  /** How long a response can be repeated: seconds, or `'24h'`. Default `'24h'`. */
  keep: option.seconds("Write a time: '24h', or seconds.").default('24h'),
  /** The number of keys that one caller may have stored at a time. Writes with further keys get 429. Default 10,000. */
  maxKeys: option.integer(1).default(10_000),
})

export interface IdempotentOptions extends OptionsOf<typeof idempotentOptions> {}

/** The largest stored response, in bytes. */
const maxStoredBytes = 1024 * 1024

/** Headers of a single response, which are not repeated. */
const perResponseHeaders = /^(?:x-request-id|date|server-timing|ratelimit.*|retry-after)$/i

/** Headers with credentials: a response with one of them is never stored. */
const credentialHeaders = /^(?:set-cookie|freshtoken)$/i

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
  const { keep, maxKeys } = idempotentOptions.read(options)
  const lifetimeMs = keep * 1000

  class LimitedKeyStore extends KeyStore {
    static readonly inject = [Database, Clock]

    constructor(database: Database, clock: Clock) {
      super(database, clock, maxKeys)
    }
  }

  /** Runs after the gate, where the caller is known, and sees the complete response. */
  class StoreResponses implements Interceptor {
    static readonly inject = [LimitedKeyStore, ApplicationState]
    static readonly before = 'body'
    static readonly document = documentKey
    readonly #keys: KeyStore
    readonly #state: ApplicationState

    constructor(keys: KeyStore, state: ApplicationState) {
      this.#keys = keys
      this.#state = state
    }

    applies(route: RouteInfo): boolean {
      return isWrite(route)
    }

    async intercept(request: HttpRequest, next: Next): Promise<RouteResponse> {
      const key = readKey(request.headers['idempotency-key'])
      if (key === undefined) return next()
      const keyed: KeyedRequest = {
        id: idOf(request, key, request.cookies[this.#state.cookieName('session')]),
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
        return this.#keys.store(key, toStoredResponse(response), lifetimeMs)
      return this.#keys.release(key, status < 500)
    }
  }

  /** Runs before the handler, where the body is known. */
  class ClaimKeys implements Interceptor {
    static readonly inject = [LimitedKeyStore]
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
      const hash = await hashOf(request)
      const claim = await this.#keys.claim(keyed.id, hash, sha256(ownerOf(request)))
      if (claim.state === 'claimed') {
        keyed.claimedKey = claim.key
        this.#keys.markWrites(request, claim.key, lifetimeMs)
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
    providers: [LimitedKeyStore],
    problems: idempotentOptions.findProblems(options, 'idempotent'),
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

/** @param session the cookie of the visitor's session */
function idOf(request: HttpRequest, key: string, session: string | undefined): string {
  const { method, path } = request
  return sha256(JSON.stringify([callerOf(request, session), method, path, key]))
}

/** Anonymous callers are distinguished by address, by session, and by credentials that the route reads itself. */
function callerOf({ auth, user, ip, headers }: HttpRequest, session?: string): unknown[] {
  if (auth?.by === 'key') return ['operator']
  if (user === null) {
    const authorization = auth === undefined ? headers.authorization : undefined
    return ['visitor', ip, session, authorization]
  }
  const claims = Object.entries(user).filter(([claim]) => !tokenClaims.has(claim))
  return claims.sort(([one], [other]) => (one < other ? -1 : 1))
}

/** The caller whose keys are limited, without what callers can choose freely. */
function ownerOf(request: HttpRequest): string {
  const { user, ip } = request
  if (request.auth?.by !== 'key' && user === null) return `visitor ${addressKey(ip)}`
  return JSON.stringify(user?.sub === undefined ? callerOf(request) : [user.iss, user.sub])
}

async function hashOf(request: HttpRequest): Promise<string> {
  // As sent: a check sets defaults, which may differ each time.
  const { url, sentBody: body, files, headers, route } = request
  const fileDetails: unknown[] = []
  for (const [name, received] of Object.entries(files)) {
    for (const file of [received].flat())
      fileDetails.push([name, file.name, file.type, await digestOf(file)])
  }
  const bytes = body instanceof Uint8Array ? body : undefined
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  const jsonBody = bytes === undefined ? body : null
  // A handler with this argument may identify its caller by cookies.
  const cookie = route?.arguments.includes('cookies') === true ? headers.cookie : undefined
  const head = JSON.stringify(
    // Versions of a route share a path.
    [route?.name, url, type, jsonBody, fileDetails, cookie],
    (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value),
  )
  return sha256(head, bytes)
}

/** Reads the file from the disk in chunks, so that a large one needs little memory. */
async function digestOf(file: UploadedFile): Promise<string> {
  const digest = createHash('sha256')
  for await (const chunk of file.stream()) digest.update(chunk as Buffer)
  return digest.digest('base64url')
}

function sha256(text: string, bytes: Uint8Array = new Uint8Array()): string {
  return createHash('sha256').update(text).update(bytes).digest('base64url')
}

/** @returns undefined for responses that cannot be repeated: streams, very long ones, and responses with credentials */
function toStoredResponse(response: RouteResponse): StoredResponse | undefined {
  const { status, body, rotation } = response
  // The next token of the caller is not a part of the result, and the repeated request gets its own.
  const headers = [...response.headers].filter(
    ([name, value]) => name !== rotation?.name || value !== rotation.value,
  )
  if (headers.some(([name]) => credentialHeaders.test(name))) return undefined
  if (body !== null && typeof body !== 'string' && !(body instanceof Uint8Array)) return undefined
  if (body !== null && body.length > maxStoredBytes) return undefined
  return { status, headers: headers.filter(([name]) => !perResponseHeaders.test(name)), body }
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
