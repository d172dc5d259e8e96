/** A minimal browser for sign-ins: it stores cookies like browsers, and follows no redirects. */
export class Visitor {
  readonly cookies = new Map<string, string>()
  readonly #home: string

  constructor(home: string) {
    this.#home = home
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.#send(path, { headers })
  }

  async post(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.#send(path, { method: 'POST', headers })
  }

  /** Sends a form. From another site, browsers leave out cookies with `SameSite=Lax`. */
  async submit(
    path: string,
    fields: URLSearchParams,
    site: 'same-origin' | 'cross-site',
  ): Promise<Response> {
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': site,
      // A page with `Referrer-Policy: no-referrer` sends no origin.
      origin: 'null',
    }
    const init = { method: 'POST', headers, body: fields.toString() }
    return this.#send(path, init, site === 'same-origin')
  }

  async head(path: string): Promise<Response> {
    return this.#send(path, { method: 'HEAD', headers: {} })
  }

  /** @returns the address of the redirect */
  async goTo(path: string): Promise<string> {
    const response = await this.get(path)
    return response.headers.get('location') ?? `${response.status}`
  }

  async #send(
    path: string,
    init: {
      readonly method?: string
      readonly headers: Readonly<Record<string, string>>
      readonly body?: string
    },
    withCookies = true,
  ): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(cookie === '' || !withCookies ? {} : { cookie }), ...init.headers }
    const response = await fetch(new URL(path, this.#home), {
      ...init,
      headers,
      redirect: 'manual',
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const name = pair.slice(0, pair.indexOf('='))
      if (/max-age=0/i.test(line)) this.cookies.delete(name)
      else this.cookies.set(name, pair.slice(name.length + 1))
    }
    return response
  }
}
