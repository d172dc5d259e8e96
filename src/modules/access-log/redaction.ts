/** Chooses which headers and query parameters are logged, and hides secrets in them by the framework's rules. */
import { hideShapes, isHarmlessHeader, isSecretName, type HttpRequest } from '../../index.js'

const redacted = '[redacted]'

/** Headers that are hidden even if the application names them. */
const credentials =
  /^(?:(?:proxy-)?authorization|cookie|idempotency-key)$|(?:token|secret|passw(?:or)?d|passphrase|pwd|jwt|otp|signature|api[-_]?key)$/i

type Names = readonly string[]

export class Redaction {
  readonly #headers: ReadonlySet<string>
  readonly #keys: ReadonlySet<string>

  /** @param customNames names in addition to those of secrets: one list for both, or one for each */
  constructor(customNames: Names | { readonly headers?: Names; readonly query?: Names } = []) {
    const { headers = [], query = [] } = isNames(customNames)
      ? { headers: customNames, query: customNames }
      : customNames
    this.#headers = toSet(headers)
    this.#keys = toSet(query)
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
      const isHidden = this.#headers.has(name) || credentials.test(name)
      if (isHidden) logged[name] = redacted
      else if (name === 'referer' || name === 'referrer') logged[name] = this.#referer(value)
      else if (requested !== true) logged[name] = value
      else logged[name] = isHarmlessHeader(name) ? hideShapes(value) : redacted
    }
    return logged
  }

  /** The query by decoded name; repeated names have a list. */
  query({ url }: HttpRequest): Record<string, string | string[]> {
    const logged = Object.create(null) as Record<string, string | string[]>
    const mark = url.indexOf('?')
    if (mark === -1) return logged
    for (const [name, text] of new URLSearchParams(url.slice(mark + 1))) {
      const value = this.#value(name, text)
      const before = logged[name]
      logged[name] = before === undefined ? value : [before, value].flat()
    }
    return logged
  }

  #value(name: string, text: string): string {
    return this.#isSecret(name) || isOperation(name, text) ? redacted : hideShapes(text)
  }

  /** Matches `token`, and forms of it: `token[]`, `user[token]`, `token.eq`. */
  #isSecret(name: string): boolean {
    const parts = name.toLowerCase().split(/[[\].\s]+/)
    return isSecretName(name) || [name.toLowerCase(), ...parts].some((part) => this.#keys.has(part))
  }

  /** The URL in `Referer` has a query, too. */
  #referer(url: string): string {
    const mark = url.indexOf('?')
    if (mark === -1) return hideShapes(url)
    const query = new URLSearchParams(url.slice(mark + 1).split('#', 1)[0])
    for (const [name, text] of [...query]) query.set(name, this.#value(name, text))
    return `${hideShapes(url.slice(0, mark))}?${query.toString()}`
  }
}

/** The document of a GraphQL operation and its variables may contain passwords: `query=mutation{signIn(password:"…")}`. */
function isOperation(name: string, value: string): boolean {
  return name.toLowerCase() === 'variables' || (name === 'query' && value.includes('{'))
}

function isNames(value: unknown): value is Names {
  return Array.isArray(value)
}

function toSet(names: Names): ReadonlySet<string> {
  return new Set(names.map((name) => name.toLowerCase()))
}
