/** Who sent a request, as far as its token tells. Set by `auth/`. */
import type { RequestAuth } from './request.js'

/** `FreshToken`, or `Set-Cookie` with the token's cookie. */
export interface RotationHeader {
  readonly name: string
  readonly value: string
}

export class CallerIdentity {
  /** The authentication, without tracking that it is read; undefined if the caller was not admitted. */
  readonly auth: RequestAuth | undefined
  /**
   * The time until which the caller is admitted: the token expires, or the sign-in becomes too old for the route.
   * Milliseconds since 1970.
   */
  readonly until: number
  /** Whether the token came in the cookie, so that the next one is set there too. */
  readonly isByCookie: boolean
  /** The header with the next token, once rotation has added it. */
  readonly rotation: RotationHeader | undefined

  constructor(
    auth: RequestAuth | undefined,
    until: number,
    isByCookie: boolean,
    rotation?: RotationHeader,
  ) {
    this.auth = auth
    this.until = until
    this.isByCookie = isByCookie
    this.rotation = rotation
  }
}

/** Nobody was admitted. */
export const unknownCaller = new CallerIdentity(undefined, Infinity, false)
/** The same, and the cookie has a token. */
export const cookieCaller = new CallerIdentity(undefined, Infinity, true)
