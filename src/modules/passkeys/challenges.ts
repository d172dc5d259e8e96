/**
 * Challenges: 256 bits that are good once, for five minutes, in the browser that asked for them. The browser has one cookie for
 * all its tabs; each of them has a challenge of its own. Source: WebAuthn Level 3 §13.4.3; RFC 6265bis §4.1.3.2.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { oneTime, PublicUrl, type HttpRequest, type OneTime } from '../../index.js'

/** What a challenge is for. */
export interface Challenge {
  readonly purpose: 'register' | 'signin'
  /** Whose passkey it asks for, or who registers one; null: any. */
  readonly sub: string | null
  /** What a new passkey is called. */
  readonly name: string | null
}

/** With the hash of the browser's cookie. */
interface KeptChallenge extends Challenge {
  readonly browser: string
}

/** Seconds. */
export const challengeLife = 300

export const challengeTokens = oneTime<KeptChallenge>('passkey challenge', { for: challengeLife })

const cookieForm = /^[\w-]{43}$/

export class Challenges {
  static readonly inject = [challengeTokens, PublicUrl]
  readonly #tokens: OneTime<KeptChallenge>
  readonly #publicUrl: PublicUrl

  constructor(tokens: OneTime<KeptChallenge>, publicUrl: PublicUrl) {
    this.#tokens = tokens
    this.#publicUrl = publicUrl
  }

  /** @returns base64url, as browsers write it into `clientDataJSON` */
  make(request: HttpRequest, challenge: Challenge): Promise<string> {
    const known = this.#cookie(request)
    const cookie = known ?? randomBytes(32).toString('base64url')
    const { secure } = this.#publicUrl
    // Again with each challenge, so that it lives as long as the last one.
    request.addHeader(
      'Set-Cookie',
      `${this.#name()}=${cookie}; Max-Age=${challengeLife}; Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`,
    )
    return this.#tokens.make({ ...challenge, browser: hashOf(cookie) })
  }

  /**
   * Takes the challenge that an answer is for: whatever comes of it, it is good for no other.
   *
   * @param given as in the answer's `clientDataJSON`
   * @returns null where it is none, was taken, has run out, or is another browser's or for something else
   */
  async take(
    request: HttpRequest,
    given: string,
    purpose: Challenge['purpose'],
  ): Promise<Challenge | null> {
    const cookie = this.#cookie(request)
    const kept = await this.#tokens.take(given)
    if (kept?.purpose !== purpose || cookie === undefined) return null
    const isSame = timingSafeEqual(Buffer.from(hashOf(cookie)), Buffer.from(kept.browser))
    return isSame ? kept : null
  }

  #cookie(request: HttpRequest): string | undefined {
    const { cookies } = request
    const name = this.#name()
    const value = Object.hasOwn(cookies, name) ? cookies[name] : undefined
    return value !== undefined && cookieForm.test(value) ? value : undefined
  }

  /** Over https no other host and no http page can set it. */
  #name(): string {
    return `${this.#publicUrl.secure ? '__Host-' : ''}app_passkeys`
  }
}

function hashOf(cookie: string): string {
  return createHash('sha256').update(cookie).digest('base64url')
}
