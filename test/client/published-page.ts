/** Pages with the published client, in Chromium, and what tests do in them. Functions given to `evaluate` run in the page. */
import type { ServerResponse } from 'node:http'
import type { BrowserContext, Page } from 'playwright-core'
import type { PlainClient } from '../../client/index.js'
import { launchBrowser, startFixture, type Answer, type FixtureServer } from './browser.js'
import { buildClient } from './built-client.js'

declare const api: PlainClient
declare const localStorage: {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
}

export const html = '<!doctype html><title>page</title><script src="/filigree.min.js"></script>'

export interface Pages {
  /** Serves the pages and the client, and answers as `answer` says elsewhere. */
  readonly home: FixtureServer
  /** An origin that no client is configured for. Its answers are `third`, with a FreshToken. */
  readonly third: FixtureServer
  /** What `home` answers; 204 until a test says otherwise. */
  answer: Answer
  /** A page for one test, in a context of its own; what was answered before, and seen up to here, is forgotten. */
  visit(): Promise<Page>
  /** One more page, which shares the context's storage. */
  open(context: BrowserContext): Promise<Page>
  close(): Promise<void>
}

const noContent: Answer = (_, response) => response.writeHead(204).end()

export async function startPages(): Promise<Pages> {
  const built = await buildClient()
  const sources: Record<string, string> = {
    '/filigree.min.js': await built.read('filigree.min.js'),
    '/filigree.mjs': await built.read('filigree.mjs'),
  }
  await built.remove()
  const home = await startFixture((request, response) => {
    const source = sources[request.url]
    if (source !== undefined) {
      response.setHeader('Content-Type', 'text/javascript').end(source)
    } else if (request.url === '/') {
      response.setHeader('Content-Type', 'text/html').end(html)
    } else if (request.url === '/favicon.ico') {
      response.writeHead(204).end()
    } else {
      pages.answer(request, response)
    }
  })
  const third = await startFixture((_, response) => {
    response.setHeader('FreshToken', 'stolen').setHeader('Content-Type', 'text/plain').end('third')
  })
  const browser = await launchBrowser()
  const pages: Pages = {
    home,
    third,
    answer: noContent,
    visit: async () => {
      pages.answer = noContent
      const page = await pages.open(await browser.newContext())
      home.seen.length = third.seen.length = 0
      return page
    },
    open: async (context) => {
      const page = await context.newPage()
      await page.goto(home.url + '/')
      return page
    },
    close: async () => {
      await browser.close()
      await Promise.all([home.close(), third.close()])
    },
  }
  return pages
}

export function json(response: ServerResponse, data: unknown): void {
  response.setHeader('Content-Type', 'application/json').end(JSON.stringify(data))
}

export const storedToken = (page: Page) => page.evaluate(() => localStorage.getItem('app_token'))

export const storeToken = (page: Page, token: string) =>
  page.evaluate((value) => {
    localStorage.setItem('app_token', value)
  }, token)

export const configure = (page: Page, baseUrl: string) =>
  page.evaluate((url) => {
    api.configure({ baseUrl: url, auth: true })
  }, baseUrl)

/** How a call ends, in a shape that can leave the page. */
export interface Outcome {
  data?: unknown
  name?: string
  status?: number | null
}

export const call = (
  page: Page,
  method: 'get' | 'post' | 'delete',
  path: string,
  body?: unknown,
): Promise<Outcome> =>
  page.evaluate<Outcome, [string, string, unknown]>(
    async ([name, address, value]) => {
      const methods = api as unknown as Record<string, (path: string, body?: unknown) => unknown>
      try {
        return { data: await methods[name]!(address, value) }
      } catch (error) {
        const { name, status = null } = error as { name: string; status?: number }
        return { name, status }
      }
    },
    [method, path, body],
  )
