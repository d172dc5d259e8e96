/**
 * Pages for the developer in place of a response: for a failed request the request's view of the development page, and while
 * the application does not run the reason (503). Both link source locations to the editor.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { resolve, sep } from 'node:path'
import { escapeHtml } from '../../core/text.js'
import { createPage, type PageContent } from '../../http/error-page.js'
import { closeSecondLoopback } from '../../http/second-loopback.js'
import { listen } from '../../http/server.js'
import type { ListenAddress, ListeningSocket, StopReason } from './child-process.js'
import {
  checkPageAccess,
  lacksOnlySecret,
  pageRoot,
  secretCookie,
  secretInAddress,
} from './page-access.js'
import type { ErrorReport } from '../describe-error.js'
import type { RecordedRequest } from './recorder.js'

/** @param page the HTML of the development page */
export function createFailurePage(page: string, request: RecordedRequest): string {
  const { number, method, url, handler, fault } = request
  if (fault === null) return page
  const title = `${fault.name}: ${fault.message}`
  const content = [
    `<h2>${escapeHtml(`${method} ${url}`)}</h2>`,
    handler === null ? '' : `<p>${escapeHtml(handler)}</p>`,
    `<h3 class="bad">${escapeHtml(title)}</h3>`,
    toSourceHtml(fault),
    `<details><summary>Stack</summary><pre tabindex="0">${escapeHtml(fault.stack)}</pre></details>`,
  ]
  return (
    page
      .replace('<html lang="en">', `<html lang="en" data-request="${number}">`)
      .replace(/<title>[^<]*<\/title>/, () => `<title>${escapeHtml(title)}</title>`)
      // The address of the page is the one of the request, so links need the page's path.
      .replaceAll(/href="#(?!content)/g, `href="${pageRoot}#`)
      .replace(/<noscript>[^]*<\/noscript>/, () => `<section>${content.join('\n')}</section>`)
  )
}

/** The address that opens the location of an error in the developer's editor. Null without a location. */
export function editorOf(error: ErrorReport | null): string | null {
  if (error === null || error.file === null) return null
  return editorLink(error.file, error.line ?? 1, process.env.FILIGREE_EDITOR)
}

export function toSourceHtml(error: ErrorReport): string {
  const { file, line, source } = error
  if (file === null) return ''
  const location = escapeHtml(`${file}:${line ?? 1}`)
  const editor = editorOf(error)
  const link =
    editor === null
      ? location
      : `<a href="${escapeHtml(editor)}">Open ${location} in the editor</a>`
  const lines = source.map((one) => {
    const text = escapeHtml(`${String(one.line).padStart(5)}  ${one.text}\n`)
    return one.line === line ? `<mark>${text}</mark>` : text
  })
  return `<p>${link}</p>\n<pre tabindex="0">${lines.join('')}</pre>`
}

// While the application does not run: a server that responds with 503.

/** Loads the page again once something else responds: the application, or the report of the next start. */
const reloadScript = `/** Loads the page again once the application runs, or its next start has failed. */
const { searchParams } = new URL(document.currentScript.src)
setInterval(async () => {
  try {
    const response = await fetch('${pageRoot}/start')
    const { start } = response.ok ? await response.json() : {}
    if (start !== searchParams.get('start')) location.reload()
  } catch {
    // Nothing listens between two processes.
  }
}, 500)
`

const withoutReason: StopReason = {
  title: 'The application is not running',
  report: 'The application is not running. The terminal of `filigree dev` shows why.',
  summary: '',
  error: null,
}
const restarted: StopReason = {
  title: 'The application was started again',
  report: 'The application was started again. Send the request again.',
  summary: 'The application was started again. Send the request again.',
  error: null,
}

interface OpenedAddress {
  /** Such as `http://localhost:3000`. */
  readonly url: string
  /** The handle of the listening socket. */
  readonly socket: object | undefined
}

export class UnavailableServer {
  #reason: StopReason
  readonly #secret: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** Different for each reason. */
  readonly #start = `${process.pid}-${Math.round(performance.now())}`

  constructor(reason: StopReason, secret: string) {
    this.#reason = reason
    this.#secret = secret
    this.#server = createServer((incoming, outgoing) => {
      this.#respond(incoming, outgoing)
    })
    this.#server.on('connection', (one: Socket) => {
      this.#sockets.add(one)
      one.once('close', () => this.#sockets.delete(one))
    })
  }

  /** Accepts connections of a socket that is listening. */
  accept(socket: ListeningSocket): void {
    this.#server.listen(socket)
  }

  /** @returns the URL and the socket, or undefined if the address cannot be opened */
  async open({ port, host }: ListenAddress): Promise<OpenedAddress | undefined> {
    try {
      const url = await listen(this.#server, port, host)
      return { url, socket: (this.#server as { _handle?: object })._handle }
    } catch {
      return undefined
    }
  }

  /** Browsers connect before they send a request, so open connections still get a response. */
  close(): void {
    this.#reason = restarted
    closeSecondLoopback(this.#server, () => undefined)
    this.#server.close()
    for (const socket of this.#sockets) socket.unref()
  }

  #respond(incoming: IncomingMessage, outgoing: ServerResponse): void {
    incoming.resume()
    const hasAccess = checkPageAccess(incoming, this.#secret) === undefined
    const [path] = (incoming.url ?? '').split('?')
    if (hasAccess && path === `${pageRoot}/start.js`) {
      send(outgoing, 200, 'text/javascript; charset=utf-8', reloadScript)
    } else if (hasAccess && path === `${pageRoot}/start`) {
      const { title } = this.#reason
      send(outgoing, 200, 'application/json', JSON.stringify({ start: this.#start, title }))
    } else if (hasAccess && path === pageRoot && secretInAddress(incoming.url) !== null) {
      // The secret is moved to a cookie. Then the address shows the report, and later the application.
      const cookie = secretCookie(incoming.headers.host ?? '', this.#secret)
      send(outgoing, 303, 'text/plain', '', { Location: '/', 'Set-Cookie': cookie })
    } else this.#explain(incoming, outgoing, hasAccess)
  }

  #explain(incoming: IncomingMessage, outgoing: ServerResponse, hasAccess: boolean): void {
    const isPage = /\btext\/html\b/i.test(incoming.headers.accept ?? '')
    const isSummary = !hasAccess && isPage && lacksOnlySecret(incoming, this.#secret)
    const reason = hasAccess ? this.#reason : isSummary ? toSummary(this.#reason) : withoutReason
    // Refresh makes clients without the script show the application as soon as it runs. People need time to read a summary.
    const headers: Record<string, string> = { 'Retry-After': '1' }
    if (!isPage || !hasAccess) headers.Refresh = isSummary ? '5' : '1'
    if (!isPage) {
      send(outgoing, 503, 'text/plain; charset=utf-8', `${reason.report}\n`, headers)
      return
    }
    const script = `${pageRoot}/start.js?start=${this.#start}`
    const { html, headers: pageHeaders } = toPage(reason, hasAccess ? script : undefined)
    send(outgoing, 503, 'text/html; charset=utf-8', html, { ...headers, ...pageHeaders })
  }
}

/** What a browser of this machine may read that has not opened the development page: no sources, no stacks. */
function toSummary(reason: StopReason): StopReason {
  const { title, summary } = reason
  return { ...reason, title, report: `${summary}\n\n${withoutSecretHint}`, error: null }
}

/** Where to read more, for a browser without the cookie. */
export const withoutSecretHint =
  'For the source and more, open the address of the development page that `filigree dev` printed in its terminal: /__filigree?secret=…. It sets a cookie, and then this address shows them.'

function toPage({ title, report, error }: StopReason, script: string | undefined): PageContent {
  const source = error === null ? '' : toSourceHtml(error)
  const content = `<h1>${escapeHtml(title)}</h1>\n<pre tabindex="0">${withLinks(report)}</pre>\n${source}`
  return createPage(title, content, script)
}

/** `src/items.ts:12:14`, also as the address of a file. */
const locations = /(?:file:\/\/)?([^\s():'"]+\.[cm]?[jt]sx?):(\d+)(?::\d+)?/g

/** Escapes a report, and makes its source locations links to the editor. */
function withLinks(report: string): string {
  let result = ''
  let end = 0
  for (const match of report.matchAll(locations)) {
    const [text, file = '', line] = match
    const link = editorLink(file, Number(line), process.env.FILIGREE_EDITOR)
    if (link === null) continue
    result += `${escapeHtml(report.slice(end, match.index))}<a href="${escapeHtml(link)}">${escapeHtml(text)}</a>`
    end = match.index + text.length
  }
  return result + escapeHtml(report.slice(end))
}

function send(
  outgoing: ServerResponse,
  status: number,
  type: string,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  outgoing.writeHead(status, {
    'Content-Type': type,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    Connection: 'close',
    ...headers,
  })
  outgoing.end(text)
}

// Addresses that open a source file in the editor that the variable `FILIGREE_EDITOR` names.

const editors: Readonly<Record<string, string>> = {
  vscode: 'vscode://file{file}:{line}',
  vscodium: 'vscodium://file{file}:{line}',
  cursor: 'cursor://file{file}:{line}',
  windsurf: 'windsurf://file{file}:{line}',
  zed: 'zed://file{file}:{line}',
  idea: 'idea://open?file={file}&line={line}',
  webstorm: 'webstorm://open?file={file}&line={line}',
  sublime: 'subl://open?url=file://{file}&line={line}',
}

/** Addresses with one of these schemes run code or open a page. */
const webSchemes = /^(?:javascript|data|vbscript|blob|file|https?|view-source):/i

/**
 * @param file absolute, or relative to the working directory
 * @param editor a name from the table, or an address with `{file}` and `{line}`. Default: VS Code
 * @returns null for an unknown editor
 */
export function editorLink(file: string, line: number, editor = 'vscode'): string | null {
  const template = Object.hasOwn(editors, editor) ? editors[editor] : editor
  if (template === undefined || !/^[a-z][a-z\d+.-]*:.*\{file\}/i.test(template)) return null
  if (webSchemes.test(template)) return null
  const path = resolve(file).split(sep).join('/')
  const absolute = encodeURI(path.startsWith('/') ? path : `/${path}`).replace(
    /[?#]/g,
    encodeURIComponent,
  )
  return template.replaceAll('{file}', () => absolute).replaceAll('{line}', String(line))
}
