/**
 * Decides which values of headers and of the query are logged. Values of harmless headers are logged, and values of headers
 * that the application names. Values of the query are hidden by name, in any case or escaping.
 */
import type { HttpRequest } from '../../index.js'

const redacted = '[redacted]'

/** Headers whose values are logged without being named: they describe the client and the message, never a person. */
const harmlessHeaders: ReadonlySet<string> = new Set([
  ...['accept', 'accept-charset', 'accept-encoding', 'accept-language'],
  ...['access-control-request-headers', 'access-control-request-method'],
  ...['cache-control', 'connection', 'date', 'expect', 'host', 'origin', 'pragma', 'prefer'],
  ...['content-encoding', 'content-language', 'content-length', 'content-type'],
  ...['if-modified-since', 'if-unmodified-since', 'if-match', 'if-none-match', 'if-range', 'range'],
  ...['keep-alive', 'priority', 'referer', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site', 'sec-fetch-user'],
  ...['traceparent', 'upgrade-insecure-requests', 'user-agent', 'x-request-id'],
])

/** The values of these are hidden, also where the application names them. */
const secretHeaders = [
  ...['authorization', 'proxy-authorization', 'cookie', 'x-api-key', 'freshtoken'],
  // Whoever knows it gets the kept answer again.
  ...['idempotency-key', 'x-auth-token', 'x-csrf-token', 'x-xsrf-token'],
]
const secretKeys = [
  ...['token', 'access_token', 'refresh_token', 'id_token', 'formtoken', 'freshtoken'],
  ...['password', 'secret', 'client_secret', 'api_key', 'apikey', 'code', 'signature', 'sig'],
  // Of GraphQL: the arguments of the operation, passwords included.
  'variables',
]

type Names = readonly string[]

/** Names that end so say themselves that what they name is secret: `reset_token`, `x-amz-security-token`, `newPassword`. */
const secretSuffix = /(?:token|secret|passw(?:or)?d|passphrase|pwd|jwt|otp|signature|api[-_]?key)$/i

export class Redaction {
  readonly #headers: ReadonlySet<string>
  readonly #keys: ReadonlySet<string>

  /** @param customNames names in addition to those of tokens and passwords: for both, or for each */
  constructor(customNames: Names | { readonly headers?: Names; readonly query?: Names } = []) {
    const { headers = [], query = [] } = isNames(customNames)
      ? { headers: customNames, query: customNames }
      : customNames
    this.#headers = toSet([...secretHeaders, ...headers])
    this.#keys = toSet([...secretKeys, ...query])
  }

  /** @param requested names, whose values are logged, or true for all: then only harmless headers are logged with their value */
  headers(request: HttpRequest, requested: boolean | Names): Record<string, string> {
    const names =
      requested === true ? Object.keys(request.headers) : requested === false ? [] : requested
    const logged: Record<string, string> = {}
    for (const requestedName of names) {
      const name = requestedName.toLowerCase()
      const value = request.headers[name]
      if (value === undefined) continue
      const isVisible = requested !== true || harmlessHeaders.has(name)
      logged[name] =
        isVisible && !this.#isSecretHeader(name) ? this.#withoutSecrets(name, value) : redacted
    }
    return logged
  }

  /** The query by its decoded names; a repeated name has a list. */
  query({ url }: HttpRequest): Record<string, string | string[]> {
    const logged = Object.create(null) as Record<string, string | string[]>
    const mark = url.indexOf('?')
    if (mark === -1) return logged
    for (const [name, text] of new URLSearchParams(url.slice(mark + 1))) {
      const value = this.#isSecret(name) || isGraphqlText(name, text) ? redacted : text
      const before = logged[name]
      logged[name] = before === undefined ? value : [before, value].flat()
    }
    return logged
  }

  /** `token`, and what is written of it: `token[]`, `user[token]`, `token.eq`. */
  #isSecret(key: string): boolean {
    const parts = key.toLowerCase().split(/[[\].\s]+/)
    return (
      this.#keys.has(key.toLowerCase()) ||
      parts.some((part) => this.#keys.has(part) || secretSuffix.test(part))
    )
  }

  #isSecretHeader(name: string): boolean {
    return this.#headers.has(name) || secretSuffix.test(name)
  }

  /** The address in `Referer` has a query, too. */
  #withoutSecrets(name: string, value: string): string {
    if (name !== 'referer' && name !== 'referrer') return value
    const mark = value.indexOf('?')
    if (mark === -1) return value
    const pairs = value.slice(mark + 1).split('#', 1)[0] ?? ''
    const query = new URLSearchParams(pairs)
    for (const [key, text] of [...query])
      if (this.#isSecret(key) || isGraphqlText(key, text)) query.set(key, redacted)
    return `${value.slice(0, mark)}?${query.toString()}`
  }
}

/** The text of an operation may hold its arguments: `query=mutation{signIn(password:"…")}`. */
function isGraphqlText(name: string, value: string): boolean {
  return name === 'query' && value.includes('{')
}

function isNames(value: unknown): value is Names {
  return Array.isArray(value)
}

function toSet(names: Names): ReadonlySet<string> {
  return new Set(names.map((name) => name.toLowerCase()))
}
