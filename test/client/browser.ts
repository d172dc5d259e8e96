/** A real Chromium, and small servers for it to talk to. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import chromium from '@sparticuz/chromium'
import { chromium as driver, type Browser } from 'playwright-core'

export async function launchBrowser(): Promise<Browser> {
  return driver.launch({
    executablePath: await chromium.executablePath(),
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  })
}

export interface SeenRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface FixtureServer {
  /** With `127.0.0.1` as its host. */
  readonly url: string
  /** The same port as `localhost`: another origin. */
  readonly localhost: string
  /** All that came, pre-flights included. */
  readonly seen: SeenRequest[]
  close(): Promise<void>
}

export type Answer = (request: SeenRequest, response: ServerResponse) => void

/** Listens on a free port and records. Every origin may read its answers, as with Filigree. */
export async function startFixture(answer: Answer): Promise<FixtureServer> {
  const seen: SeenRequest[] = []
  const server = createServer((incoming, response) => {
    void readRequest(incoming).then((request) => {
      seen.push(request)
      response.setHeader('Access-Control-Allow-Origin', '*')
      response.setHeader('Access-Control-Allow-Methods', 'GET, POST, PUT, PATCH, DELETE, OPTIONS')
      response.setHeader('Access-Control-Allow-Headers', 'Content-Type, Authorization')
      response.setHeader('Access-Control-Expose-Headers', 'FreshToken')
      if (request.method === 'OPTIONS') response.writeHead(204).end()
      else answer(request, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    localhost: `http://localhost:${port}`,
    seen,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function readRequest(incoming: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const { method = '', url = '', headers } = incoming
  return { method, url, headers, body: Buffer.concat(chunks).toString() }
}
