/**
 * `idempotent()`, experimental: if a write is sent twice with one `Idempotency-Key`, it runs once and both requests get
 * its answer. Source: decisions, "Second storey: production", Idempotency;
 * draft-ietf-httpapi-idempotency-key-header-07.
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
  rejectUnknownOptions,
  type RouteResponse,
  type HttpRequest,
  type Interceptor,
  type Next,
} from '../../index.js'
import { inFlight, KeptAnswers, type ClaimedKey, type KeptAnswer } from './key-store.js'

/** Documents writes that accept an `Idempotency-Key`. */

type Operation = Parameters<NonNullable<InterceptorClass['document']>>[0]

const content = {
  'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } },
  'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemBody' } },
}

const answers = {
  '409':
    'The first request with this key has not been answered yet, or was done but its response is not stored, or the data conflict.',
  '422': 'The key was already used for a different request.',
}

function documentKey(operation: Operation, { method }: RouteInfo): Operation {
  if (method === 'GET') return operation
  const known = (operation.responses ?? {}) as Record<string, unknown>
  const more = Object.fromEntries(
    Object.entries(answers).map(([status, description]) => [
      status,
      known[status] ?? { description, content },
    ]),
  )
  const responses = Object.entries({ ...known, ...more }).sort(([one], [other]) =>
    one.localeCompare(other),
  )
  return {
    ...operation,
    parameters: [
      ...(operation.parameters ?? []),
      {
        name: 'Idempotency-Key',
        in: 'header',
        description:
          'If the same request is sent again with the same key, the first answer is repeated.',
        schema: { type: 'string', minLength: 1, maxLength: 255 },
      },
    ],
    responses: Object.fromEntries(responses),
  }
}

export interface IdempotentOptions {
  /** How long an answer can be repeated: seconds, or `'24h'`. Default `'24h'`. */
  keep?: number | string
}

/** The largest answer that is kept, in bytes. */
const mostBytes = 1024 * 1024

const sessionCookie = 'app_session'

/** Headers that belong to a single answer and are not repeated. */
const passing = /^(?:x-request-id|date|server-timing|ratelimit.*|retry-after)$/i

/** Headers that carry credentials: a response with one of them is never stored. */
const credentials = ['set-cookie', 'freshtoken']

/** A request with a key, while it is served. */
interface Keyed {
  readonly id: string
  /** Of the first request with the key, whose response will be stored. */
  claimed: ClaimedKey | undefined
  /** The first answer, to be repeated. */
  again: KeptAnswer | undefined
}

const keyedOf = requestValue<Keyed>('idempotency')

/** Applies to the writes of the importing module and of the modules that it imports. Experimental, as the draft is. */
export const idempotent = createModule(function idempotent(options: IdempotentOptions = {}) {
  const seconds = readSeconds(options.keep ?? '24h')
  const life = seconds && seconds * 1000

  /** Runs after the gate, where the caller is known, and sees the whole answer. */
  class IdempotentAnswers implements Interceptor {
    static readonly inject = [KeptAnswers]
    static readonly before = 'body'
    static readonly document = documentKey
    readonly #kept: KeptAnswers

    constructor(kept: KeptAnswers) {
      this.#kept = kept
    }

    applies(route: RouteInfo): boolean {
      return isWrite(route)
    }

    async intercept(request: HttpRequest, next: Next): Promise<RouteResponse> {
      const key = readKey(request.headers['idempotency-key'])
      if (key === undefined) return next()
      const keyed: Keyed = { id: idOf(request, key), claimed: undefined, again: undefined }
      keyedOf.set(request, keyed)
      const answer = await next()
      if (keyed.again !== undefined) return replay(answer, keyed.again)
      if (keyed.claimed !== undefined) await this.#end(keyed.claimed, answer)
      return answer
    }

    /** After a failure of the server, only the key's row can tell whether the request has written. */
    #end(key: ClaimedKey, answer: RouteResponse): Promise<void> {
      const { status } = answer
      if (status >= 200 && status < 300) return this.#kept.keep(key, toKept(answer), life ?? 0)
      return this.#kept.release(key, status < 500)
    }
  }

  /** Runs before the handler, where the body is known. */
  class IdempotentRequests implements Interceptor {
    static readonly inject = [KeptAnswers]
    readonly #kept: KeptAnswers

    constructor(kept: KeptAnswers) {
      this.#kept = kept
    }

    applies(route: RouteInfo): boolean {
      return isWrite(route)
    }

    async intercept(request: HttpRequest, next: Next): Promise<unknown> {
      const keyed = keyedOf.get(request)
      if (keyed === undefined) return next<unknown>()
      const hash = hashOf(request)
      const claim = await this.#kept.claim(keyed.id, hash)
      if (claim.state === 'claimed') {
        keyed.claimed = claim.key
        this.#kept.markWrites(request, claim.key, life ?? 0)
        return next<unknown>()
      }
      if (claim.hash !== hash) throw otherBody()
      if (claim.state === 'running') throw inFlight()
      if (claim.state === 'done') throw notStored()
      keyed.again = claim.answer
      return reply(null, 204)
    }
  }
  return {
    providers: [KeptAnswers],
    problems: findProblems(options, life),
    use: [IdempotentAnswers, IdempotentRequests],
    cors: { allowedHeaders: ['Idempotency-Key'], exposedHeaders: ['Idempotent-Replayed'] },
  }
})

function isWrite({ method }: RouteInfo): boolean {
  return method !== 'GET'
}

/** @throws {HttpError} 400 if it is empty or too long */
function readKey(given: string | undefined): string | undefined {
  if (given === undefined) return undefined
  // The draft quotes the key; many clients do not.
  const key = given.trim().replace(/^"(.*)"$/, '$1')
  if (key !== '' && key.length <= 255) return key
  throw new HttpError(400, 'Idempotency-Key must have 1 to 255 characters.', {
    code: 'IDEMPOTENCY_KEY',
  })
}

/** Claims that describe the token, and decide no rights. */
const ofToken: ReadonlySet<string> = new Set(['exp', 'iat', 'nbf', 'auth_time', 'jti'])

function idOf(request: HttpRequest, key: string): string {
  const { method, path } = request
  return sha256(JSON.stringify([callerOf(request), method, path, key]))
}

/** Visitors without a token are distinguished by address, by session, and by credentials that the route reads itself. */
function callerOf({ auth, user, ip, cookies, headers }: HttpRequest): unknown[] {
  if (auth?.by === 'key') return ['operator']
  if (user === null) {
    const authorization = auth === undefined ? headers.authorization : undefined
    return ['visitor', ip, cookies[sessionCookie], authorization]
  }
  const claims = Object.entries(user).filter(([claim]) => !ofToken.has(claim))
  return claims.sort(([one], [other]) => (one < other ? -1 : 1))
}

function hashOf({ path, query, body, files, headers, route }: HttpRequest): string {
  const sent = Object.entries(files).map(([name, given]) => [
    name,
    ...[given].flat().map(({ name: file, size, type }) => [file, size, type]),
  ])
  const bytes = body instanceof Uint8Array ? body : undefined
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  const plain = bytes === undefined ? body : null
  // A handler that names them may know its visitor by them.
  const cookie = route?.arguments.includes('cookies') === true ? headers.cookie : undefined
  const head = JSON.stringify([path, query, type, plain, sent, cookie], (_, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : value,
  )
  return sha256(head, bytes)
}

function sha256(text: string, bytes: Uint8Array = new Uint8Array()): string {
  return createHash('sha256').update(text).update(bytes).digest('base64url')
}

/** @returns undefined for responses that are not repeated: streams, very long ones, and those with credentials */
function toKept({ status, headers, body }: RouteResponse): KeptAnswer | undefined {
  if (credentials.some((name) => headers.get(name) !== undefined)) return undefined
  if (body !== null && typeof body !== 'string' && !(body instanceof Uint8Array)) return undefined
  if (body !== null && body.length > mostBytes) return undefined
  return { status, headers: [...headers].filter(([name]) => !passing.test(name)), body }
}

function replay(answer: RouteResponse, { status, headers, body }: KeptAnswer): RouteResponse {
  const again = answer.withBody(body, status)
  for (const [name] of headers) again.headers.delete(name)
  // One by one: `Vary` and `Link` may stand there more than once.
  for (const [name, value] of headers) again.headers.append(name, value)
  again.headers.set('Idempotent-Replayed', 'true')
  return again
}

function otherBody(): HttpError {
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

function findProblems(options: IdempotentOptions, life: number | undefined) {
  const problems = rejectUnknownOptions(options, ['keep'], 'idempotent')
  if (life === undefined) {
    problems.push({
      code: 'INVALID_OPTION',
      message: `idempotent: keep is ${JSON.stringify(options.keep)}.`,
      remedy: "Give seconds, or a time such as '24h'.",
    })
  }
  return problems
}
