/** The response builder, for handlers that return more than a body. Source: decisions, Responses. */
import { acceptOtherCopies } from '../errors/shared-class.js'
import { cleanFileName } from './upload.js'
import { toSetCookie, type CookieOptions } from './cookies.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import { entityTag, matchesEntityTag } from './entity-tag.js'
import { checkHeader } from './header-checks.js'
import { HeaderList } from './header-list.js'
import type { ServerRequest } from './server-request.js'

/**
 * Writes the name under which a browser saves a response. Source: RFC 6266 §4.3 and appendix D; RFC 8187 §3.2.
 *
 * @param name any text; folders and control characters are removed
 * @returns both forms: `attachment; filename="Ubersicht _.csv"; filename*=UTF-8''%C3%9Cbersicht%20%E2%82%AC.csv`
 */
function attachmentNamed(name: string): string {
  const clean = cleanFileName(name.replace(/\p{Surrogate}/gu, '\ufffd'))
  const plain = clean.normalize('NFKD').replace(/\p{Mark}/gu, '')
  // Some browsers decode percent signs, others end the name at an escaped quote.
  const ascii = plain.replace(/[^ -~]|["%\\]/gu, '_')
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encodeExtended(clean)}`
}

/** `encodeURIComponent` leaves these characters, which RFC 8187 does not allow. */
function encodeExtended(text: string): string {
  return encodeURIComponent(text).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

const freshTokenOptions = declareOptions({
  /** Signs in requests from other sites too. Default false. */
  crossSite: option.any<boolean>(),
})

export interface FreshTokenOptions extends OptionsOf<typeof freshTokenOptions> {}

/**
 * A body with its status and headers. `reply`, `html`, `file`, `redirect` and `events` create it. Except for `withBody`,
 * its methods change the reply and return it.
 */
export class Reply<Body = unknown> {
  readonly body: Body
  /** Undefined: the route's status, or 204 if the body is null or undefined. */
  readonly status: number | undefined
  /** Without `Content-Type` and `Content-Length`. */
  readonly headers = new HeaderList()
  /** The `Content-Type` that the handler has set; undefined: the default for the body. */
  mediaType: string | undefined = undefined
  /** The number of bytes of a stream, if known; ignored for other bodies. */
  length: number | undefined = undefined
  /** True if a request from another site may set the cookie with the token. */
  signsInCrossSite = false

  /** @throws {RangeError} if the status is not an integer from 200 to 599 */
  constructor(body: Body, status?: number) {
    if (status !== undefined && !(Number.isInteger(status) && status >= 200 && status <= 599)) {
      throw new RangeError(`reply: ${status} is not a response status. Use 200 to 599.`)
    }
    this.body = body
    this.status = status
  }

  /**
   * Sets a header. A second value for the same name replaces the first, except for `Set-Cookie`, `Vary`, `Link` and
   * `WWW-Authenticate`, which are sent repeatedly. `Content-Length` only applies to streams.
   *
   * @throws {TypeError} if the name is not a header name, if the value contains CR, LF, NUL or another character that a
   * header cannot contain, or if Filigree writes the header itself (`Transfer-Encoding`, `Access-Control-*`)
   */
  header(name: string, value: string | number): this {
    const text = String(value)
    if (/^content-type$/i.test(name)) return this.type(text)
    if (/^content-length$/i.test(name)) return this.#setLength(text)
    checkHeader(name, text)
    this.headers.set(name, text)
    return this
  }

  /**
   * Sets `Content-Type`, such as `text/csv; charset=utf-8`. It is sent unchanged.
   *
   * @throws {TypeError} if the value cannot be sent
   */
  type(mediaType: string): this {
    checkHeader('Content-Type', mediaType)
    this.mediaType = mediaType
    return this
  }

  /**
   * Adds a cookie. Default: for all paths of the host, hidden from scripts, SameSite=Lax.
   *
   * @param value any text; it is percent-encoded
   * @throws {TypeError} if the name, path or domain is not allowed in a cookie, or an option is unknown
   */
  cookie(name: string, value: string, options?: CookieOptions): this {
    return this.header('Set-Cookie', toSetCookie(name, value, options))
  }

  /**
   * Makes browsers save the body under a name, with any characters: `Content-Disposition` in both forms of RFC 6266.
   *
   * @param name folders and control characters are removed
   */
  download(name: string): this {
    return this.header('Content-Disposition', attachmentNamed(name))
  }

  /**
   * Sends a token to the client in the header `FreshToken`. The client stores it and uses it from then on. With
   * `auth.cookie`, the token is also set as a cookie. A request from another site then gets 403, so that no other site
   * can sign a visitor in.
   *
   * @param options `crossSite: true` for links in mails and redirects of providers, which come from other sites. The
   * request itself must prove that this visitor wanted to sign in: by a one-time token, or by a cookie
   */
  freshToken(token: string, options: FreshTokenOptions = {}): this {
    freshTokenOptions.check('reply().freshToken', options)
    this.signsInCrossSite = options.crossSite === true
    return this.header('FreshToken', token)
  }

  /** Returns a copy of the reply with another body. */
  withBody<Other>(body: Other): Reply<Other> {
    const copy = new Reply(body, this.status)
    copy.headers.addAll(this.headers)
    copy.mediaType = this.mediaType
    copy.length = this.length
    copy.signsInCrossSite = this.signsInCrossSite
    return copy
  }

  #setLength(text: string): this {
    if (!/^\d{1,15}$/.test(text)) {
      throw new TypeError(
        `Header "Content-Length": "${text}" is not a number of bytes. Give a whole number from 0.`,
      )
    }
    this.length = Number(text)
    return this
  }
}

acceptOtherCopies(Reply, 'Reply')

/**
 * Builds a response.
 *
 * @param body an object, list, number or boolean (JSON); a string (text/plain unless `.type` is set); null; bytes, a
 * Node or web stream, a Blob, an async iterable or an iterator of text and bytes (application/octet-stream)
 * @param status default: the route's status, otherwise 200
 * @throws {RangeError} if the status is not an integer from 200 to 599
 */
export function reply<Body = null>(body: Body = null as Body, status?: number): Reply<Body> {
  return new Reply(body, status)
}

/** Responds with a page: `text/html; charset=utf-8`. Its text is not escaped. */
export function html(text: string, status?: number): Reply<string> {
  return new Reply(text, status).type('text/html; charset=utf-8')
}

export type RedirectStatus = 301 | 302 | 303 | 307 | 308

const redirects: readonly number[] = [301, 302, 303, 307, 308]

/**
 * Redirects the client.
 *
 * @param url absolute, or relative to the request's; characters outside ASCII are percent-encoded. The URL is not
 * validated, so do not build it from input of a client
 * @throws {TypeError} if the address contains CR, LF or another control character
 * @throws {RangeError} if the status is not a redirect
 */
export function redirect(url: string | URL, status: RedirectStatus = 302): Reply<null> {
  if (!redirects.includes(status)) {
    throw new RangeError(`redirect: ${status} is not a redirect. Use 301, 302, 303, 307 or 308.`)
  }
  return new Reply(null, status).header('Location', toAscii(String(url)))
}

/**
 * Percent-encodes spaces and characters outside ASCII. Control characters stay, so that the header's check rejects
 * them.
 */
function toAscii(url: string): string {
  const wellFormed = url.replace(/[\ud800-\udfff]/gu, '\ufffd')
  return wellFormed.replace(/ |[^\p{ASCII}]/gu, encodeURIComponent)
}

/**
 * Serves a text that is created once, such as a part of a page: with its ETag, or as 304. Sends `Cache-Control:
 * no-cache` unless `.header` sets another rule.
 *
 * @param type the `Content-Type`
 * @param write called at the first request, and again only if it failed
 */
export function createCachedText(
  type: string,
  write: () => string | Promise<string>,
): (request: ServerRequest) => Reply | Promise<Reply> {
  let cached: { readonly text: string; readonly etag: string } | undefined
  const send = (request: ServerRequest, { text, etag }: NonNullable<typeof cached>): Reply => {
    const isCurrent = matchesEntityTag(request.incoming.headers['if-none-match'], etag)
    const answer = isCurrent ? reply(null, 304) : reply(text).type(type)
    return hardened(answer).header('ETag', etag)
  }
  const store = (text: string): NonNullable<typeof cached> => {
    cached = { text, etag: entityTag(text) }
    return cached
  }
  return (request) => {
    if (cached !== undefined) return send(request, cached)
    const written = write()
    if (typeof written === 'string') return send(request, store(written))
    return written.then((text) => send(request, store(text)))
  }
}

/** The headers that every part of a page has. */
export function hardened<Body>(answer: Reply<Body>): Reply<Body> {
  return answer.header('Cache-Control', 'no-cache').header('Referrer-Policy', 'no-referrer')
}
