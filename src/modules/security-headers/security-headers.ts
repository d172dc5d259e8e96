/**
 * `securityHeaders()` adds security headers to HTML pages that do not set them. Source: W3C Content Security Policy 3; RFC 6797 (HSTS);
 * HTML §7.7 (X-Frame-Options); W3C Referrer Policy.
 */
import {
  createModule,
  declareOptions,
  option,
  type Option,
  type OptionsOf,
  type RouteResponse,
  type HttpRequest,
  type Interceptor,
  type Next,
} from '../../index.js'

const headerText = (remedy: string): Option<string | false> =>
  option.of(
    (value) => value === false || (typeof value === 'string' && /^[\t\x20-\x7e]+$/.test(value)),
    remedy,
  )

const securityHeadersOptions = declareOptions({
  /**
   * `Content-Security-Policy` of pages that have none. Default: only content of this origin, no plugins, and no framing. Pages of the framework have their own
   * policies. False sends none.
   */
  csp: headerText('Write the text of the policy, or false.'),
  /** Seconds of `Strict-Transport-Security`, only sent over https; false sends none. Default 31,536,000, a year. */
  hsts: option
    .of<number | false>(
      (value) => value === false || (Number.isSafeInteger(value) && Number(value) >= 0),
      'Write whole seconds, or false.',
    )
    .default(31_536_000),
  /** `X-Frame-Options`. Default `'DENY'`; false sends none. */
  frame: option.oneOf('DENY', 'SAMEORIGIN', false).default('DENY'),
  /** `Referrer-Policy`. Default `'no-referrer'`; false sends none. */
  referrer: headerText("Write 'no-referrer', or false.").default('no-referrer'),
})

export interface SecurityHeadersOptions extends OptionsOf<typeof securityHeadersOptions> {}

const defaultPolicy = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
].join('; ')

const ancestors = { DENY: "; frame-ancestors 'none'", SAMEORIGIN: "; frame-ancestors 'self'" }

/** Adds missing headers. Headers that a page sets itself are not changed. */
export const securityHeaders = createModule(function securityHeaders(
  options: SecurityHeadersOptions = {},
) {
  const { csp, hsts, frame, referrer } = securityHeadersOptions.read(options)
  const policy = csp ?? defaultPolicy + (frame === false ? '' : ancestors[frame])
  const headers = Object.entries({
    'Content-Security-Policy': policy,
    'X-Frame-Options': frame,
    'Referrer-Policy': referrer,
  }).filter((entry): entry is [string, string] => entry[1] !== false)

  class SecurityHeaders implements Interceptor {
    static readonly before = 'gate'
    static readonly everywhere = true

    async intercept(request: HttpRequest, next: Next): Promise<RouteResponse> {
      const response = await next()
      if (hsts !== false && request.secure) {
        setMissing(response, 'Strict-Transport-Security', `max-age=${hsts}; includeSubDomains`)
      }
      if (isHtml(response)) for (const [name, value] of headers) setMissing(response, name, value)
      return response
    }
  }
  return {
    problems: securityHeadersOptions.findProblems(options, 'securityHeaders'),
    use: [SecurityHeaders],
  }
})

function isHtml({ headers }: RouteResponse): boolean {
  return /^\s*(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i.test(
    headers.get('Content-Type') ?? '',
  )
}

function setMissing({ headers }: RouteResponse, name: string, value: string): void {
  if (headers.get(name) === undefined) headers.set(name, value)
}
