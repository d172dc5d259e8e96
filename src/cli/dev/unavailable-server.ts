/** Responds while the application of `filigree dev` does not run: 503, with the reason for clients of the development page. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { escapeHtml } from '../../core/text.js'
import { createPage, type PageContent } from '../../http/error-page.js'
import { listen } from '../../http/server.js'
import type { ListenAddress, ListeningSocket, StopReason } from './child-process.js'
import { editorLink } from './editor-links.js'
import { toSourceHtml } from './failure-page.js'
import { checkPageAccess, pageRoot, secretCookie, secretInAddress } from './page-access.js'

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
  error: null,
}
const restarted: StopReason = {
  title: 'The application was started again',
  report: 'The application was started again. Send the request again.',
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
    } else this.#explain(incoming, outgoing, hasAccess ? this.#reason : withoutReason)
  }

  #explain(incoming: IncomingMessage, outgoing: ServerResponse, reason: StopReason): void {
    const isPage = /\btext\/html\b/i.test(incoming.headers.accept ?? '')
    const isExplained = reason === this.#reason
    // Refresh makes clients without the script show the application as soon as it runs.
    const headers: Record<string, string> = { 'Retry-After': '1' }
    if (!isPage || !isExplained) headers.Refresh = '1'
    if (!isPage) {
      send(outgoing, 503, 'text/plain; charset=utf-8', `${reason.report}\n`, headers)
      return
    }
    const script = `${pageRoot}/start.js?start=${this.#start}`
    const { html, headers: pageHeaders } = toPage(reason, isExplained ? script : undefined)
    const [, policy = ''] = pageHeaders
    send(outgoing, 503, 'text/html; charset=utf-8', html, {
      ...headers,
      'Content-Security-Policy': policy,
    })
  }
}

function toPage({ title, report, error }: StopReason, script: string | undefined): PageContent {
  const source = error === null || error.file === null ? '' : toSourceHtml(error, linkOf(error))
  const content = `<h1>${escapeHtml(title)}</h1>\n<pre tabindex="0">${withLinks(report)}</pre>\n${source}`
  return createPage(title, content, script)
}

function linkOf({ file, line }: NonNullable<StopReason['error']>): string | null {
  return editorLink(file ?? '', line ?? 1, process.env.FILIGREE_EDITOR)
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
    ...{ 'Content-Type': type, 'X-Content-Type-Options': 'nosniff' },
    ...{ 'Cache-Control': 'no-store', Connection: 'close', ...headers },
  })
  outgoing.end(text)
}
