/**
 * Errors as pages: a browser gets HTML where other clients get JSON. The page is the one of `filigree dev`, the application's
 * `errorPage`, or the built-in one. Source: decisions, Responses.
 */
import { createHash } from 'node:crypto'
import { reasonPhrase } from '../errors/http-error.js'
import { escapeHtml } from '../core/text.js'
import { findNearestRoutes, type NearRoute } from '../routing/nearest-routes.js'
import type { ClientError } from './error-form.js'
import { isLocalRequest } from './local-request.js'
import { namesMedia } from './accept.js'
import type { HttpRequest } from './request.js'
import type { ServerRequest } from './server-request.js'

/** An error as a page may show it. */
export interface PageError extends ClientError {
  /** The id of the request, which the log has too. */
  readonly requestId: string
  /** For a path without a route: similar routes. Always empty in production and for clients of other machines. */
  readonly nearestRoutes: readonly { readonly method: string; readonly path: string }[]
}

/** Returns the HTML page of an error. Texts of the error can contain input of the client, so escape them. */
export type ErrorPage = (error: PageError, request: HttpRequest) => string

/** HTML and the headers that it needs. */
export interface PageContent {
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

export interface ErrorPagesOptions {
  /** Default: the built-in page. */
  readonly errorPage?: ErrorPage | undefined
  /** Routes to suggest. Default: none. */
  readonly routes?: readonly NearRoute[]
  /** The page that shows a developer why a request failed. It returns undefined for other clients and errors. */
  readonly developmentPage?:
    ((request: ServerRequest, error: unknown) => PageContent | undefined) | undefined
  /** A text for a developer on the built-in page. It returns undefined for other clients and errors. */
  readonly developmentHint?: ((request: ServerRequest) => string | undefined) | undefined
}

export class ErrorPages {
  readonly #options: ErrorPagesOptions

  constructor(options: ErrorPagesOptions) {
    this.#options = options
  }

  /**
   * @param thrown the error itself, which only the development page shows
   * @param error the error as clients may see it
   * @throws {TypeError} if the application's page is not text
   */
  create(request: ServerRequest, thrown: unknown, error: ClientError): PageContent {
    const { errorPage, developmentPage, developmentHint } = this.#options
    const development = developmentPage?.(request, thrown)
    if (development !== undefined) return withoutStoring(development)
    const nearestRoutes = this.#nearestRoutes(request, error.status)
    const pageError = { ...error, requestId: request.id, nearestRoutes }
    if (errorPage === undefined)
      return withoutStoring(createErrorPage(pageError, developmentHint?.(request)))
    const html: unknown = errorPage(pageError, request)
    if (typeof html !== 'string') throw new TypeError('errorPage must return the HTML as text.')
    return withoutStoring({ html, headers: {} })
  }

  #nearestRoutes(request: ServerRequest, status: number): PageError['nearestRoutes'] {
    const { routes = [] } = this.#options
    const isUnmatched = request.route === undefined && (status === 404 || status === 405)
    if (!isUnmatched || routes.length === 0 || !isLocalRequest(request.incoming)) return []
    const { method, path } = request
    return findNearestRoutes(routes, method === 'HEAD' ? 'GET' : method, path).map((route) => ({
      method: route.method,
      path: route.pattern.text,
    }))
  }
}

/** Programs list a JSON type in `Accept`. Browsers list none when they open a page. */
const jsonTypes = /\bapplication\/(?:\*|[\w.+-]*json)/i
const pageTypes: readonly string[] = ['text/html']

/** @returns true for a browser that opens a page or sends a form */
export function acceptsPage({ incoming }: ServerRequest): boolean {
  const { accept, 'content-type': contentType = '' } = incoming.headers
  if (accept === undefined || !namesMedia(accept, pageTypes)) return false
  return !jsonTypes.test(accept) && !/json/i.test(contentType)
}

function withoutStoring({ html, headers }: PageContent): PageContent {
  return { html, headers: { ...headers, 'Cache-Control': 'no-store' } }
}

/** @param problems receives a value that is not a function */
const headings: Readonly<Record<number, string>> = {
  400: 'The request is not valid',
  401: 'You are not signed in',
  403: 'You may not open this page',
  404: 'Page not found',
  405: 'This address does not accept the request',
  408: 'The request took too long',
  413: 'The file or text is too large',
  429: 'Too many requests',
  500: 'Something went wrong',
  503: 'Temporarily not available',
}

const advice: Readonly<Record<number, string>> = {
  401: 'Sign in, then open this page again.',
  404: 'Check the address, or go back to the page before.',
  429: 'Wait, then try again.',
  500: 'The error was logged. Try again later.',
  503: 'Try again soon.',
}

function createErrorPage(error: PageError, developmentHint = ''): PageContent {
  const { status, message, fields, requestId, nearestRoutes } = error
  const heading = headings[status] ?? reasonPhrase(status)
  const hint = message === reasonPhrase(status) ? (advice[status] ?? '') : message
  const fieldList = fields.map((field) => `<li>${escapeHtml(field.message)}</li>`)
  const routeList = nearestRoutes.map((route) => `<li>${toRouteLink(route)}</li>`)
  const content = [
    `<p class="quiet">Error ${status}</p>`,
    `<h1>${escapeHtml(heading)}</h1>`,
    // The message of an error of several fields is their messages.
    fields.length > 1 ? `<ul>${fieldList.join('')}</ul>` : hint && `<p>${escapeHtml(hint)}</p>`,
    developmentHint && `<p>${escapeHtml(developmentHint)}</p>`,
    routeList.length === 0 ? '' : `<h2>Nearest routes</h2>\n<ul>${routeList.join('')}</ul>`,
    `<p class="quiet">Request id: <code>${escapeHtml(requestId)}</code></p>`,
  ]
  return createPage(`${heading} (${status})`, content.filter((part) => part !== '').join('\n'))
}

function toRouteLink({ method, path }: PageError['nearestRoutes'][number]): string {
  const text = escapeHtml(path)
  const isLink = method === 'GET' && !path.includes('<')
  const pathHtml = `<code>${isLink ? `<a href="${escapeHtml(encodeURI(path))}">${text}</a>` : text}</code>`
  return `<span class="method">${escapeHtml(method)}</span> ${pathHtml}`
}

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; background: light-dark(#fff, #16181d); color: light-dark(#1b1e24, #e8eaee); }
main { max-width: 44rem; margin: 0 auto; padding: 12vh 1.25rem 3rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.25rem 0 1rem; }
h2 { font-size: 1.05rem; margin: 1.75rem 0 0.25rem; }
ul { padding-left: 1.2rem; }
li { padding: 0.2rem 0; }
a { color: light-dark(#0b4fb3, #8ab8ff); }
:focus-visible { outline: 3px solid light-dark(#0b4fb3, #8ab8ff); outline-offset: 1px; }
code, pre { font: 0.9rem/1.5 ui-monospace, monospace; }
pre { padding: 0.75rem; overflow-x: auto; background: light-dark(#f3f4f6, #20242c); border: 1px solid light-dark(#c9ccd3, #3c424e); border-radius: 0.3rem; white-space: pre-wrap; }
mark { background: none; color: light-dark(#b3161b, #ff9a94); font-weight: 700; }
.quiet { color: light-dark(#51565f, #a9afba); margin: 1.5rem 0 0; }
.method { display: inline-block; min-width: 3.5rem; color: light-dark(#51565f, #a9afba); }
`

let styleHash: string | undefined

/**
 * @param content HTML
 * @param script the address of a script of this origin
 * @returns a page in the framework's look, in light and dark
 */
export function createPage(title: string, content: string, script?: string): PageContent {
  const scriptElement = script === undefined ? '' : `\n<script src="${script}" defer></script>`
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>${scriptElement}
</head>
<body>
<main>
${content}
</main>
</body>
</html>
`
  styleHash ??= createHash('sha256').update(style).digest('base64')
  const scripts = script === undefined ? '' : "; script-src 'self'; connect-src 'self'"
  const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:${scripts}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  return { html, headers: { 'Content-Security-Policy': policy } }
}
