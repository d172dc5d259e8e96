/** Decides which values of headers and query parameters are logged: values of harmless headers, and of headers that the application names. Query values are hidden by name, in any case or encoding. */
import type { HttpRequest } from '../../index.js'

const redacted = '[redacted]'

/** Headers whose values are logged by default: they describe the client and the message, never a person. */
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

/** Always hidden, even if the application names them. */
const secretHeaders = [
  ...['authorization', 'proxy-authorization', 'cookie', 'x-api-key', 'freshtoken'],
  // A key gives access to the stored response.
  ...['idempotency-key', 'x-auth-token', 'x-csrf-token', 'x-xsrf-token'],
]
const secretKeys = [
  ...['token', 'access_token', 'refresh_token', 'id_token', 'formtoken', 'freshtoken'],
  ...['password', 'secret', 'client_secret', 'api_key', 'apikey', 'code', 'signature', 'sig'],
  // The arguments of a GraphQL operation, which may include passwords.
  'variables',
]

type Names = readonly string[]

/** Suffixes of secret names: `reset_token`, `x-amz-security-token`, `newPassword`. */
const secretSuffix = /(?:token|secret|passw(?:or)?d|passphrase|pwd|jwt|otp|signature|api[-_]?key)$/i

export class Redaction {
  readonly #headers: ReadonlySet<string>
  readonly #keys: ReadonlySet<string>

  /** @param customNames names in addition to tokens and passwords: one list for both, or one for each */
  constructor(customNames: Names | { readonly headers?: Names; readonly query?: Names } = []) {
    const { headers = [], query = [] } = isNames(customNames)
      ? { headers: customNames, query: customNames }
      : customNames
    this.#headers = toSet([...secretHeaders, ...headers])
    this.#keys = toSet([...secretKeys, ...query])
  }

  /** @param requested names whose values are logged; true: all headers, with the values of harmless ones */
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

  /** The query by decoded name; repeated names have a list. */
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

  /** Matches `token`, and forms of it: `token[]`, `user[token]`, `token.eq`. */
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

  /** The URL in `Referer` has a query, too. */
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

/** A GraphQL document may contain its arguments: `query=mutation{signIn(password:"…")}`. */
function isGraphqlText(name: string, value: string): boolean {
  return name === 'query' && value.includes('{')
}

function isNames(value: unknown): value is Names {
  return Array.isArray(value)
}

function toSet(names: Names): ReadonlySet<string> {
  return new Set(names.map((name) => name.toLowerCase()))
}
