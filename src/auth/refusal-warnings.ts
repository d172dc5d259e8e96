/**
 * Warns if no token has been accepted yet: a wrong issuer, audience, key or clock refuses every token, and the client does
 * not see the reason. Each cause is logged once, and none after the first accepted token.
 */
import type { Log } from '../core/log.js'
import type { RefusalCause, TokenCheckResult } from './tokens.js'

interface WarningOptions {
  readonly log: Log
  readonly issuer: string | undefined
  readonly audience: string | readonly string[] | undefined
}

/** The texts of causes that a wrong setting can have. */
const texts: Partial<Record<RefusalCause, string>> = {
  issuer: 'Its iss differs from auth.issuer. Correct auth.issuer.',
  audience: 'Its aud differs from auth.audience. Correct auth.audience.',
  key: 'No key of this application has signed it. Check APP_PUBLIC_KEY, APP_PRIVATE_KEY or auth.jwks.',
  clock: 'It is not valid yet. Check the clocks of this machine and of the issuer.',
  expired:
    'Several tokens have expired. If they are new, check the clocks of this machine and of the issuer.',
}

/** One expired token is normal: a client that was away. */
const minExpired = 3

export class RefusalWarnings {
  readonly #options: WarningOptions
  readonly #warned = new Set<RefusalCause>()
  #isAccepted = false
  #expired = 0

  constructor(options: WarningOptions) {
    this.#options = options
  }

  add({ refusal }: TokenCheckResult): void {
    if (this.#isAccepted) return
    if (refusal === undefined) {
      this.#isAccepted = true
      return
    }
    const { cause, reason, claims } = refusal
    const text = texts[cause]
    if (text === undefined || this.#warned.has(cause)) return
    if (cause === 'expired' && ++this.#expired < minExpired) return
    this.#warned.add(cause)
    const { log, issuer, audience } = this.#options
    const details =
      cause === 'issuer'
        ? { iss: claims?.iss, expected: issuer }
        : cause === 'audience'
          ? { aud: claims?.aud, expected: audience ?? null }
          : { reason }
    log.warn(details, `a token was refused, and none has been accepted so far. ${text}`)
  }
}
