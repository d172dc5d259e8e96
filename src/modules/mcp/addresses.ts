/**
 * Which addresses the endpoint answers at. A page elsewhere can make a browser send requests to it under a name of its own
 * (DNS rebinding): `Host` says that name, `Origin` where the page came from. Both have to be the public address, one of `hosts`, or
 * this machine at the same port, where the request comes from this machine. Source: decisions, "Third storey: admin and agents".
 */
import { HttpError, type HttpRequest, type PublicUrl } from '../../index.js'
import { isLoopback } from './options.js'

export class Addresses {
  readonly #publicUrl: PublicUrl
  /** Names with a port, and those for every port. */
  readonly #hosts: ReadonlySet<string>

  /** The port may be known later than this. */
  #own: { readonly href: string; readonly hosts: readonly string[] } | undefined

  constructor(publicUrl: PublicUrl, hosts: readonly string[]) {
    this.#publicUrl = publicUrl
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()))
  }

  /** @throws {HttpError} 403 where the request came under another name, or from a page of another place */
  admit(request: HttpRequest): void {
    const { host = '', origin } = request.incoming.headers
    const isHere = this.#isLocal(request, host)
    if (!isHere && !this.#isOurs(host)) throw foreign('Host', host)
    if (origin === undefined) return
    const from = hostOf(origin)
    if (from === undefined || !(this.#isOurs(from) || (isHere && isSamePlace(from, host))))
      throw foreign('Origin', origin)
  }

  /** By a name of this machine, from this machine. */
  #isLocal({ incoming }: HttpRequest, host: string): boolean {
    return isLoopbackAddress(incoming.socket.remoteAddress ?? '') && isLoopback(nameOf(host))
  }

  #isOurs(host: string): boolean {
    const asked = host.toLowerCase()
    if (this.#hosts.has(asked) || this.#hosts.has(nameOf(asked))) return true
    const { href } = this.#publicUrl
    if (this.#own?.href !== href) this.#own = { href, hosts: hostsOf(href) }
    return this.#own.hosts.includes(asked)
  }
}

/** Browsers leave out the usual port, other clients may say it. */
function hostsOf(href: string): string[] {
  const { host, protocol } = new URL(href)
  return [host, `${host}:${protocol === 'https:' ? 443 : 80}`]
}

/** `desk.example:8080` → `desk.example`. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, '')
}

/** A page of this machine at another port is of another application. */
function isSamePlace(origin: string, host: string): boolean {
  return isLoopback(nameOf(origin)) && portOf(origin) === portOf(host)
}

function portOf(host: string): string {
  return /:(\d+)$/.exec(host)?.[1] ?? ''
}

function hostOf(origin: string): string | undefined {
  if (!/^https?:\/\/[^/?#@]+$/i.test(origin) || !URL.canParse(origin)) return undefined
  return new URL(origin).host
}

function isLoopbackAddress(address: string): boolean {
  return /^(?:::ffff:)?127\.|^::1$/.test(address)
}

function foreign(header: string, value: string): HttpError {
  return new HttpError(403, 'Forbidden', {
    reason: `${header} ${JSON.stringify(value)} is neither the public address nor one of mcp's hosts`,
  })
}
