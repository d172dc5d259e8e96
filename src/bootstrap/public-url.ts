/**
 * The address at which browsers find the application, used for links. It comes from the settings, never from a request.
 * Source: decisions, Sign-in.
 */
import type { ErrorCode } from '../errors/error-codes.js'
import type { Problems } from '../errors/problems.js'
import { withBasePath } from '../http/response-head.js'

/**
 * The application's public address: `static inject = [PublicUrl]`, `publicUrl.to('/reset?token=…')`. In production it
 * requires `publicUrl` of `bootstrap` or `PUBLIC_URL`; elsewhere it is `http://localhost` with the open port.
 */
export class PublicUrl {
  readonly #href: () => string
  readonly #basePath: string

  /**
   * @param href without a slash at its end; called each time, because the port may be known only later
   * @param basePath the prefix of all paths of the application
   */
  constructor(href: () => string, basePath = '') {
    this.#href = href
    this.#basePath = basePath
  }

  /** Without a slash at its end: `https://desk.example`. */
  get href(): string {
    return this.#href()
  }

  /** Scheme, name and port, as browsers send them in `Origin`. */
  get origin(): string {
    return new URL(this.href).origin
  }

  /** True if browsers use https. */
  get secure(): boolean {
    return this.href.startsWith('https:')
  }

  /**
   * The complete address of a path of the application. As in `redirect`, `basePath` of `bootstrap` is added to a path
   * without it.
   *
   * @param path with a slash in front; a query may follow
   * @throws {TypeError} if it is not a path
   */
  to(path: string): string {
    if (!/^\/(?![/\\])/.test(path))
      throw new TypeError(
        `PublicUrl.to: ${JSON.stringify(path)} is not a path of this application. Start it with one slash: '/reset?token=…'.`,
      )
    return this.href + withBasePath(path, this.#basePath)
  }
}

/**
 * The address of an application without a configured public address.
 *
 * @throws {Error} in production, because other machines cannot reach it
 */
export function localAddress(port: number, production: boolean): string {
  if (!production) return `http://localhost:${port}`
  throw new Error(
    'This application has no public address. Set PUBLIC_URL, or publicUrl of bootstrap.',
  )
}

/** True if the host is this machine, so that http is as safe as https. */
function isLoopback(hostname: string): boolean {
  return /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname)
}

/**
 * @param value the option, or the variable
 * @param where its name in messages: `bootstrap: publicUrl`, `PUBLIC_URL`
 * @param problems receives the error
 * @returns the address without a slash at its end. Undefined if it is invalid
 */
export function readPublicUrl(
  value: unknown,
  { where, code, production }: { where: string; code: ErrorCode; production: boolean },
  problems: Problems,
): string | undefined {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
  const error = findError(String(value), url, production)
  if (url !== undefined && error === undefined) return url.href.replace(/\/+$/, '')
  const remedy = "Write the address that people type: 'https://desk.example'."
  problems.add({ code, message: `${where} ${error ?? ''}.`, remedy })
  return undefined
}

function findError(text: string, url: URL | undefined, production: boolean): string | undefined {
  if (url === undefined || !/^https?:\/\/[^/]/.test(text)) return 'is not an http or https address'
  if (url.username !== '' || url.password !== '') return 'has a user or a password'
  // `?` alone is an empty query, which URL does not show.
  if (/[?#]/.test(text)) return 'has a query or a fragment'
  const isReadable = production && url.protocol === 'http:' && !isLoopback(url.hostname)
  return isReadable ? 'is http, which can be read in transit' : undefined
}
