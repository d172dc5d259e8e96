/** The names of the framework's cookies. */
import type { Option } from '../options/declare-options.js'
import { option } from '../options/option.js'

/** Configured names. */
export interface CookieNameOptions {
  /** The token's cookie, without `__Host-`. Default: `app_token` with the suffix of the application. */
  readonly token?: string | undefined
  /** The session's cookie. Default: `app_session` with the suffix of the application. */
  readonly session?: string | undefined
}

/**
 * The names of the framework's cookies. Browsers share cookies between the ports and paths of a host, so the names differ
 * between its applications: `app_token_3000` outside production, `app_token.desk` for the path `/desk` in production.
 */
export class CookieNames {
  /** The cookie with a token, for requests that browsers send without custom headers: `<img>`, EventSource, pages. */
  token = ''
  /**
   * The token's cookie over https. No other host and no http page can set it, because browsers require Secure and Path=/
   * for the prefix (RFC 6265bis §4.1.3.2).
   */
  secureToken = ''
  /** The cookie that identifies a visitor's session. */
  session = ''
  readonly #options: CookieNameOptions
  #suffix = ''

  constructor(options: CookieNameOptions = {}, suffix = '') {
    this.#options = options
    this.suffix = suffix
  }

  /** Set once the port is known. */
  set suffix(suffix: string) {
    this.#suffix = suffix
    this.token = this.#options.token ?? this.of('token')
    this.secureToken = `__Host-${this.token}`
    this.session = this.#options.session ?? this.of('session')
  }

  /** The name of another cookie: `app_passkeys_3000`. */
  of(purpose: string): string {
    return `app_${purpose}${this.#suffix}`
  }
}

/** The suffix of an application that listens on this port. */
export function portSuffix(port: number): string {
  return `_${port}`
}

/**
 * The suffix of an application at a public address: its path with dots, and its port if it is not the default.
 *
 * @param path the prefix of the paths of the application, behind the path of the address
 */
export function addressSuffix(address: string | undefined, path: string): string {
  const url = address === undefined ? undefined : new URL(address)
  const port = url === undefined || url.port === '' ? '' : `_${url.port}`
  const complete = `${url?.pathname ?? ''}${path}`.replace(/\/+$/, '')
  // A dot in the path must not look like a slash. The other characters are not allowed in names.
  const escaped = complete.replace(/[^!#$%&'*+\-^_`|~0-9A-Za-z/]/g, (sign) => encodeSign(sign))
  return port + escaped.replace(/\/+/g, '.')
}

function encodeSign(sign: string): string {
  const bytes = [...Buffer.from(sign)]
  return bytes.map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')
}

/** An option for the name of a cookie that browsers accept (RFC 6265 §4.1.1). */
export function cookieNameOption(example: string): Option<string> {
  const advice = `Write letters, digits, dashes and underscores: '${example}'.`
  return option
    .of<string>(
      (value) => isCookieName(value) && !hasCookiePrefix(value),
      (value) =>
        isCookieName(value) ? `It has a prefix, which is added over https. ${advice}` : advice,
    )
    .shown()
}

function isCookieName(name: unknown): name is string {
  return typeof name === 'string' && /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/.test(name)
}

function hasCookiePrefix(name: string): boolean {
  return /^__(?:host|secure)-/i.test(name)
}
