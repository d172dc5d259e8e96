/** The cookies of one caller, stored as a browser does on pages of the application. Source: RFC 6265, §5.3. */

interface Cookie {
  readonly value: string
  /** Milliseconds since 1970; undefined: as long as the caller exists. */
  readonly expiresAt: number | undefined
}

export class CookieJar {
  readonly #cookies = new Map<string, Cookie>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** @param lines values of `Set-Cookie` */
  take(lines: readonly string[]): void {
    for (const line of lines) {
      const [pair = '', ...attributes] = line.split(';')
      const middle = pair.indexOf('=')
      const name = pair.slice(0, middle).trim()
      const expiresAt = this.#readExpiry(attributes)
      if (expiresAt !== undefined && expiresAt <= this.#now()) this.#cookies.delete(name)
      else this.#cookies.set(name, { value: pair.slice(middle + 1).trim(), expiresAt })
    }
  }

  /** The header `Cookie`; `undefined` if there is none to send. */
  get header(): string | undefined {
    const now = this.#now()
    const live = [...this.#cookies].filter(
      ([, { expiresAt }]) => expiresAt === undefined || expiresAt > now,
    )
    return live.length === 0
      ? undefined
      : live.map(([name, { value }]) => `${name}=${value}`).join('; ')
  }

  clear(): void {
    this.#cookies.clear()
  }

  #readExpiry(attributes: readonly string[]): number | undefined {
    let expires: number | undefined
    for (const attribute of attributes) {
      const [name = '', value = ''] = attribute.split('=').map((part) => part.trim())
      if (name.toLowerCase() === 'max-age') return this.#now() + Number(value) * 1000
      if (name.toLowerCase() === 'expires') expires = Date.parse(value)
    }
    return expires
  }
}
