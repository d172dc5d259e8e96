/**
 * The HTTP client for a provider, with limits for time and size and a response cache (RFC 9111 §4.2). Redirects are not
 * followed, because openid-client rejects them.
 */

/** Maximum size of a response in bytes. */
const maxResponseBytes = 512 * 1024

/** Milliseconds for which a response is cached: without caching headers, and the maximum. */
const [defaultLifetime, maxLifetime] = [600_000, 24 * 3_600_000]

/** The options that openid-client passes to `fetch`. */
export interface FetchOptions {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: RequestInit['body'] | undefined
  readonly redirect: 'manual'
  readonly signal?: AbortSignal
}

/** A response with its body read. */
interface ProviderResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Milliseconds since 1970. */
  readonly receivedAt: number
  readonly expiresAt: number
}

/** Cached responses of one provider, by URL. */
export class ResponseCache {
  readonly #now: () => number
  readonly #responses = new Map<string, ProviderResponse>()
  readonly #pending = new Map<string, Promise<ProviderResponse>>()

  constructor(now: () => number) {
    this.#now = now
  }

  clear(): void {
    this.#responses.clear()
  }

  /** The cached response, unless it has expired. */
  find(url: string): ProviderResponse | undefined {
    const found = this.#responses.get(url)
    return found !== undefined && found.expiresAt > this.#now() ? found : undefined
  }

  /** Sends a request, once for concurrent callers, and caches a response with status 200. */
  refresh(url: string, fetchResponse: () => Promise<ProviderResponse>): Promise<ProviderResponse> {
    let pending = this.#pending.get(url)
    if (pending === undefined) {
      pending = fetchResponse()
        .then((response) => {
          if (response.status === 200) this.#responses.set(url, response)
          return response
        })
        .finally(() => this.#pending.delete(url))
      this.#pending.set(url, pending)
    }
    return pending
  }
}

/** Sends the requests to a provider that belong to one browser request. */
export class ProviderClient {
  /** The reason why the provider did not respond properly, or undefined. */
  failure: string | undefined
  readonly #cache: ResponseCache
  readonly #timeout: AbortSignal
  readonly #now: () => number

  /** @param timeout the time limit in milliseconds for all requests together */
  constructor(cache: ResponseCache, timeout: number, now: () => number) {
    this.#cache = cache
    this.#timeout = AbortSignal.timeout(timeout)
    this.#now = now
  }

  /** Fetches the metadata from the cache if possible. openid-client requests it every time. */
  readonly discover = async (url: string, options: FetchOptions): Promise<Response> => {
    const response =
      this.#cache.find(url) ?? (await this.#recordFailure(() => this.#refresh(url, options)))
    return toResponse(response)
  }

  /** Fetches everything else. Keys are always fetched, because openid-client requests them only if the cached keys do not match. */
  readonly fetch = async (url: string, options: FetchOptions): Promise<Response> => {
    const isPlain = options.method === 'GET' && options.headers.authorization === undefined
    return toResponse(
      await this.#recordFailure(() =>
        isPlain ? this.#refresh(url, options) : this.#send(url, options),
      ),
    )
  }

  #refresh(url: string, options: FetchOptions): Promise<ProviderResponse> {
    return this.#cache.refresh(url, () => this.#send(url, options))
  }

  async #recordFailure(send: () => Promise<ProviderResponse>): Promise<ProviderResponse> {
    try {
      const response = await send()
      if (response.status >= 500 || response.status === 429)
        this.failure = `it responded with ${response.status}`
      return response
    } catch (error) {
      this.failure = this.#timeout.aborted ? 'it did not respond in time' : toReason(error)
      throw error
    }
  }

  async #send(url: string, options: FetchOptions): Promise<ProviderResponse> {
    const { signal = this.#timeout } = options
    const response = await fetch(url, {
      ...options,
      signal: AbortSignal.any([signal, this.#timeout]),
    })
    const { status, headers } = response
    const receivedAt = this.#now()
    return {
      status,
      headers,
      text: await readText(response),
      receivedAt,
      expiresAt: receivedAt + lifetimeOf(headers),
    }
  }
}

async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += (part as Uint8Array).byteLength
    // Throwing out of the loop closes the connection.
    if (bytes > maxResponseBytes) throw new RangeError('its response is too long')
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

function toResponse({ status, headers, text }: ProviderResponse): Response {
  const isBodyless = status === 204 || status === 205 || status === 304
  return new Response(isBodyless ? null : text, { status, headers })
}

/** How long a response may be cached, in milliseconds. */
function lifetimeOf(headers: Headers): number {
  const cacheControl = headers.get('cache-control') ?? ''
  if (/\bno-(?:store|cache)\b/i.test(cacheControl)) return 0
  const seconds = /\bmax-age\s*=\s*"?(\d{1,9})/i.exec(cacheControl)?.[1]
  const age = Number(headers.get('age') ?? 0)
  const expires = Date.parse(headers.get('expires') ?? '')
  const date = Date.parse(headers.get('date') ?? '')
  const lifetime =
    seconds !== undefined
      ? (Number(seconds) - (Number.isFinite(age) ? age : 0)) * 1000
      : Number.isFinite(expires)
        ? expires - (Number.isFinite(date) ? date : Date.now())
        : headers.has('expires')
          ? 0
          : defaultLifetime
  return Math.min(Math.max(lifetime, 0), maxLifetime)
}

/** The code of the connection error. The messages of `fetch` do not contain it. */
function toReason(error: unknown): string {
  if (error instanceof RangeError) return error.message
  const { cause } = error as { cause?: { code?: unknown } }
  return typeof cause?.code === 'string' ? cause.code : 'it cannot be reached'
}
