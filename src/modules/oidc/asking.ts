/**
 * Asks a provider over HTTP within a time and a size, and keeps what may be kept. Redirects are not followed: openid-client
 * asks for them by hand and refuses them. Source: decisions, Sign-in; RFC 9111 §4.2.
 */

/** Bytes of the largest answer that is read. */
const mostBytes = 512 * 1024

/** Milliseconds that an answer is good for whose headers do not say it, and the longest that is believed. */
const [plainLife, longestLife] = [600_000, 24 * 3_600_000]

/** What openid-client asks `fetch` with. */
export interface Asked {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: RequestInit['body'] | undefined
  readonly redirect: 'manual'
  readonly signal?: AbortSignal
}

/** An answer that was read whole. */
interface Read {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly until: number
}

/** Answers of one provider that may be used again, by their addresses. */
export class KeptAnswers {
  readonly #now: () => number
  readonly #kept = new Map<string, Read>()
  readonly #coming = new Map<string, Promise<Read>>()

  constructor(now: () => number) {
    this.#now = now
  }

  forget(): void {
    this.#kept.clear()
  }

  /** What is there, as long as its headers allow. */
  find(url: string): Read | undefined {
    const found = this.#kept.get(url)
    return found !== undefined && found.until > this.#now() ? found : undefined
  }

  /** Asks anew, once for all who ask at the same time. */
  renew(url: string, ask: () => Promise<Read>): Promise<Read> {
    let coming = this.#coming.get(url)
    if (coming === undefined) {
      coming = ask()
        .then((read) => {
          if (read.status === 200) this.#kept.set(url, read)
          return read
        })
        .finally(() => this.#coming.delete(url))
      this.#coming.set(url, coming)
    }
    return coming
  }
}

/** What is asked of a provider for one request of a browser. */
export class Conversation {
  /** Why the provider is at fault; undefined while it has answered, whatever it said. */
  failure: string | undefined
  readonly #kept: KeptAnswers
  readonly #end: AbortSignal
  readonly #now: () => number

  /** @param patience milliseconds for all that is asked together */
  constructor(kept: KeptAnswers, patience: number, now: () => number) {
    this.#kept = kept
    this.#end = AbortSignal.timeout(patience)
    this.#now = now
  }

  /** For metadata, which openid-client reads anew each time. */
  readonly discover = async (url: string, asked: Asked): Promise<Response> => {
    const read = this.#kept.find(url) ?? (await this.#told(() => this.#renew(url, asked)))
    return toResponse(read)
  }

  /** For all else: keys are asked for when those that are there do not do, so that they are fetched. */
  readonly ask = async (url: string, asked: Asked): Promise<Response> => {
    const isPlain = asked.method === 'GET' && asked.headers.authorization === undefined
    return toResponse(
      await this.#told(() => (isPlain ? this.#renew(url, asked) : this.#read(url, asked))),
    )
  }

  #renew(url: string, asked: Asked): Promise<Read> {
    return this.#kept.renew(url, () => this.#read(url, asked))
  }

  async #told(ask: () => Promise<Read>): Promise<Read> {
    try {
      const read = await ask()
      if (read.status >= 500 || read.status === 429) this.failure = `it answered ${read.status}`
      return read
    } catch (error) {
      this.failure = this.#end.aborted ? 'it did not answer in time' : toReason(error)
      throw error
    }
  }

  async #read(url: string, asked: Asked): Promise<Read> {
    const { signal = this.#end } = asked
    const response = await fetch(url, { ...asked, signal: AbortSignal.any([signal, this.#end]) })
    const { status, headers } = response
    const at = this.#now()
    return { status, headers, text: await readText(response), at, until: at + lifeOf(headers) }
  }
}

async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += (part as Uint8Array).byteLength
    // Leaving the loop ends the connection.
    if (bytes > mostBytes) throw new RangeError('its answer is too long')
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

function toResponse({ status, headers, text }: Read): Response {
  const isBodyless = status === 204 || status === 205 || status === 304
  return new Response(isBodyless ? null : text, { status, headers })
}

/** Milliseconds. */
function lifeOf(headers: Headers): number {
  const rules = headers.get('cache-control') ?? ''
  if (/\bno-(?:store|cache)\b/i.test(rules)) return 0
  const seconds = /\bmax-age\s*=\s*"?(\d{1,9})/i.exec(rules)?.[1]
  const age = Number(headers.get('age') ?? 0)
  const expires = Date.parse(headers.get('expires') ?? '')
  const date = Date.parse(headers.get('date') ?? '')
  const life =
    seconds !== undefined
      ? (Number(seconds) - (Number.isFinite(age) ? age : 0)) * 1000
      : Number.isFinite(expires)
        ? expires - (Number.isFinite(date) ? date : Date.now())
        : headers.has('expires')
          ? 0
          : plainLife
  return Math.min(Math.max(life, 0), longestLife)
}

/** The code of the connection's fault; the texts of `fetch` say nothing. */
function toReason(error: unknown): string {
  if (error instanceof RangeError) return error.message
  const { cause } = error as { cause?: { code?: unknown } }
  return typeof cause?.code === 'string' ? cause.code : 'it cannot be reached'
}
