/**
 * Challenges, and fake passkeys for unknown users. A challenge has 256 bits and is valid once, for five minutes, in the browser
 * that requested it. A browser has one cookie for all tabs, and each tab has its own challenge (WebAuthn Level 3 §13.4.3).
 */
import { createHmac, createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  ApplicationState,
  Auth,
  oneTime,
  PublicUrl,
  type HttpRequest,
  type OneTime,
} from '../../index.js'

/** The purpose of a challenge, and whom it belongs to. */
export interface Challenge {
  readonly purpose: 'register' | 'signin'
  /** The user who registers or signs in, or null for any user. */
  readonly sub: string | null
  /** The name of the new passkey. */
  readonly name: string | null
}

/** A challenge with the hash of the browser's cookie. */
interface StoredChallenge extends Challenge {
  readonly browser: string
}

/** How long a challenge is valid, in seconds. */
export const challengeLifetime = 300

export const challengeTokens = oneTime<StoredChallenge>('passkey challenge', {
  for: challengeLifetime,
})

const cookieForm = /^[\w-]{43}$/

export class Challenges {
  static readonly inject = [challengeTokens, PublicUrl, ApplicationState]
  readonly #tokens: OneTime<StoredChallenge>
  readonly #publicUrl: PublicUrl
  readonly #state: ApplicationState

  constructor(tokens: OneTime<StoredChallenge>, publicUrl: PublicUrl, state: ApplicationState) {
    this.#state = state
    this.#tokens = tokens
    this.#publicUrl = publicUrl
  }

  /** Creates a challenge. @returns base64url, the form in `clientDataJSON` */
  make(request: HttpRequest, challenge: Challenge): Promise<string> {
    const existing = this.#cookie(request)
    const cookie = existing ?? randomBytes(32).toString('base64url')
    const { secure } = this.#publicUrl
    // Set the cookie again for each challenge, so that it expires with the last one.
    request.addHeader(
      'Set-Cookie',
      `${this.#name()}=${cookie}; Max-Age=${challengeLifetime}; Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`,
    )
    return this.#tokens.make({ ...challenge, browser: hashOf(cookie) })
  }

  /**
   * Takes the challenge of a response. It cannot be used again, even if the response is not valid.
   *
   * @param challenge as in the answer's `clientDataJSON`
   * @returns null if it is unknown, used, expired, or belongs to another browser or purpose
   */
  async take(
    request: HttpRequest,
    challenge: string,
    purpose: Challenge['purpose'],
  ): Promise<Challenge | null> {
    const cookie = this.#cookie(request)
    const stored = await this.#tokens.take(challenge)
    if (stored?.purpose !== purpose || cookie === undefined) return null
    const isSame = timingSafeEqual(Buffer.from(hashOf(cookie)), Buffer.from(stored.browser))
    return isSame ? stored : null
  }

  #cookie(request: HttpRequest): string | undefined {
    const { cookies } = request
    const name = this.#name()
    const value = Object.hasOwn(cookies, name) ? cookies[name] : undefined
    return value !== undefined && cookieForm.test(value) ? value : undefined
  }

  /** The name of the cookie. With `__Host-`, other hosts and http pages cannot set the cookie. */
  #name(): string {
    return `${this.#publicUrl.secure ? '__Host-' : ''}${this.#state.cookieName('passkeys')}`
  }
}

function hashOf(cookie: string): string {
  return createHash('sha256').update(cookie).digest('base64url')
}

/** A passkey as `allowCredentials` describes it. */
export interface AllowedCredential {
  readonly type: 'public-key'
  readonly id: string
  readonly transports: readonly string[]
}

/** Common kinds of passkeys (iCloud or Google, security key, Windows Hello): bytes of the id, transports in stored order, and weight. */
const decoyKinds = [
  { bytes: 20, transports: ['hybrid', 'internal'], weight: 120 },
  { bytes: 16, transports: ['hybrid', 'internal'], weight: 80 },
  { bytes: 32, transports: ['internal'], weight: 56 },
] as const

/**
 * Fake passkeys for users without passkeys, so that callers cannot find out who has an account (WebAuthn Level 3 §14.6.2). They
 * are derived from the name and a secret of the application, so they are the same in every process.
 */
export class Decoys {
  static readonly inject = [Auth]
  readonly #auth: Auth
  #secret: Promise<Buffer> | undefined

  constructor(auth: Auth) {
    this.#auth = auth
  }

  async forName(name: string): Promise<AllowedCredential[]> {
    this.#secret ??= this.#auth.secretFor('passkey decoys')
    const secret = await this.#secret
    const bytes = (part: string): Buffer =>
      createHmac('sha256', secret).update(`${part}:`).update(name, 'utf16le').digest()
    const [choice = 0, second = 0] = bytes('choice')
    const first = decoy(choice, bytes('first'))
    return second < 40 ? [first, decoy(second * 6, bytes('second'))] : [first]
  }
}

function decoy(choice: number, bytes: Buffer): AllowedCredential {
  let remaining = choice
  const kind = decoyKinds.find(({ weight }) => (remaining -= weight) < 0) ?? decoyKinds[0]
  const id = bytes.subarray(0, kind.bytes).toString('base64url')
  return { type: 'public-key', id, transports: kind.transports }
}
