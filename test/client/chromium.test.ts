/** The published script and module in a real browser. Functions given to `evaluate` run in the page. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Application } from 'filigree'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { PlainClient } from '../../client/index.js'
import { launchBrowser, startFixture, type Answer, type FixtureServer } from './browser.js'
import { buildClient, type BuiltClient, type BuiltFile } from './built-client.js'
import { signToken, startShop } from './shop-application.js'

declare const api: PlainClient
declare const localStorage: {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

let built: BuiltClient
let browser: Browser
let shop: Application
/** Serves the pages, and answers as `answer` says elsewhere. */
let home: FixtureServer
/** An origin that no client is configured for. */
let third: FixtureServer
let answer: Answer
let context: BrowserContext
let page: Page

const files: Record<string, [type: string, name: BuiltFile]> = {
  '/filigree.min.js': ['text/javascript', 'filigree.min.js'],
  '/filigree.mjs': ['text/javascript', 'filigree.mjs'],
}
const html = '<!doctype html><title>page</title><script src="/filigree.min.js"></script>'

beforeAll(async () => {
  const sources: Record<string, string> = {}
  built = await buildClient()
  for (const [path, [, name]] of Object.entries(files)) sources[path] = await built.read(name)
  home = await startFixture((request, response) => {
    const source = sources[request.url]
    if (source !== undefined) {
      response.setHeader('Content-Type', 'text/javascript').end(source)
    } else if (request.url === '/') {
      response.setHeader('Content-Type', 'text/html').end(html)
    } else if (request.url === '/favicon.ico') {
      response.writeHead(204).end()
    } else {
      answer(request, response)
    }
  })
  third = await startFixture((_, response) => {
    response.setHeader('FreshToken', 'stolen').setHeader('Content-Type', 'text/plain').end('third')
  })
  shop = await startShop()
  browser = await launchBrowser()
}, 60_000)

afterAll(async () => {
  await browser.close()
  await Promise.all([shop.close(), home.close(), third.close(), built.remove()])
})

beforeEach(async () => {
  answer = (_, response) => response.writeHead(204).end()
  context = await browser.newContext()
  page = await openPage()
  home.seen.length = third.seen.length = 0
})
afterEach(() => context.close())

async function openPage(): Promise<Page> {
  const opened = await context.newPage()
  await opened.goto(home.url + '/')
  return opened
}

const json = (response: Parameters<Answer>[1], data: unknown) => {
  response.setHeader('Content-Type', 'application/json').end(JSON.stringify(data))
}
const storedToken = (of = page) => of.evaluate(() => localStorage.getItem('app_token'))
const storeToken = (token: string, of = page) =>
  of.evaluate((value) => {
    localStorage.setItem('app_token', value)
  }, token)
const configure = (baseUrl: string, of = page) =>
  of.evaluate((url) => {
    api.configure({ baseUrl: url, auth: true })
  }, baseUrl)

/** How a call ends, in a shape that can leave the page. */
interface Outcome {
  data?: unknown
  name?: string
  status?: number | null
}
const call = (method: 'get' | 'post' | 'delete', path: string, body?: unknown, of = page) =>
  of.evaluate<Outcome, [string, string, unknown]>(
    ([name, address, value]) =>
      (api as unknown as Record<string, (path: string, body?: unknown) => Promise<unknown>>)[name]!(
        address,
        value,
      ).then(
        (data) => ({ data }),
        (error: { name: string; status?: number }) => ({
          name: error.name,
          status: error.status ?? null,
        }),
      ),
    [method, path, body],
  )

describe('the script', () => {
  it('adds window.api and no other name to the page', async () => {
    const names = () => Object.getOwnPropertyNames(globalThis).sort()
    const withScript = await page.evaluate(names)
    const empty = await context.newPage()
    await empty.goto(home.url + '/filigree.min.js')
    const without = new Set(await empty.evaluate(names))
    expect(withScript.filter((name) => !without.has(name))).toEqual(['api'])
  })

  it('sends to the page’s own origin by default', async () => {
    answer = (request, response) => json(response, { url: request.url })
    expect(await call('get', '/items?a=1')).toEqual({ data: { url: '/items?a=1' } })
  })
})

describe('the module', () => {
  it('makes clients that work on their own', async () => {
    answer = (request, response) => json(response, request.headers.authorization ?? null)
    const data = await page.evaluate(async () => {
      const path = '/filigree.mjs'
      const module = (await import(path)) as {
        createClient(options: object): PlainClient
      }
      const memory = { getItem: () => 'mine', setItem: () => undefined }
      return module.createClient({ auth: true, storage: memory }).get('/items')
    })
    expect(data).toBe('Bearer mine')
  })
})

describe('a page and an application of two origins', () => {
  beforeEach(() => configure(shop.url))

  it('log in, and rotate through the exposed header', async () => {
    expect(await call('post', '/login', { name: 'Ann', password: 'lovelace' })).toEqual({
      data: { ok: true },
    })
    expect(await storedToken()).toMatch(/^ey/)
    const old = signToken('Bob')
    await storeToken(old)
    expect(await call('get', '/me')).toMatchObject({ data: { name: 'Bob' } })
    expect(await storedToken()).not.toBe(old)
    expect(await call('delete', '/items/7')).toEqual({ data: { id: 7, formToken: true } })
  })

  it('show errors of every status to the page', async () => {
    expect(await call('get', '/me')).toEqual({ name: 'Error', status: 401 })
    expect(await call('get', '/nowhere')).toEqual({ name: 'Error', status: 404 })
    await storeToken(signToken('Bob'))
    expect(await call('get', '/me/forbidden')).toEqual({ name: 'Error', status: 403 })
    expect(await call('post', '/items', { name: 7 })).toEqual({ name: 'Error', status: 400 })
  })

  it('upload 20 MB', async () => {
    await storeToken(signToken('Bob'))
    const data = await page.evaluate(() => {
      const form = new FormData()
      form.append('title', 'Sunset')
      form.append('photo', new File([new Uint8Array(20 * 1024 * 1024)], 'sunset.png'))
      return api.post('/items/photos', form) as Promise<unknown>
    })
    expect(data).toEqual({
      body: { title: 'Sunset' },
      name: 'sunset.png',
      size: 20 * 1024 * 1024,
      formToken: true,
    })
  }, 60_000)

  it('take a form of another frame', async () => {
    await storeToken(signToken('Bob'))
    const data = await page.evaluate(() => {
      const frame = document.body.appendChild(document.createElement('iframe'))
      const OtherForm = (frame.contentWindow as unknown as { FormData: typeof FormData }).FormData
      const form = new OtherForm()
      form.append('photo', new Blob(['abc']), 'a.txt')
      return api.post('/items/photos', form) as Promise<unknown>
    })
    expect(data).toMatchObject({ name: 'a.txt', size: 3, formToken: true })
  })
})

describe('pre-flights', () => {
  beforeEach(() => configure(home.localhost))
  const methods = () => home.seen.map((request) => request.method)

  it('are not needed to read in public', async () => {
    await call('get', '/items')
    expect(methods()).toEqual(['GET'])
  })

  it('go before what carries a token or JSON', async () => {
    await call('post', '/items', { a: 1 })
    await storeToken('t')
    await call('get', '/me')
    expect(methods()).toEqual(['OPTIONS', 'POST', 'OPTIONS', 'GET'])
    expect(home.seen[0]!.headers['access-control-request-headers']).toBe('content-type')
    expect(home.seen[2]!.headers['access-control-request-headers']).toBe('authorization')
  })
})

describe('the token', () => {
  const tokens = (server: FixtureServer) =>
    server.seen.map(({ headers, body }) => [headers.authorization, body.includes('secret')])

  beforeEach(async () => {
    await configure('')
    await storeToken('secret')
  })

  it('does not reach a third origin', async () => {
    await call('get', third.url + '/items')
    await call('post', third.url + '/items', { a: 1 })
    await call('post', home.localhost + '/items', { a: 1 })
    expect(tokens(third).filter(([, inBody]) => inBody)).toEqual([])
    expect([...third.seen, ...home.seen].map((request) => request.headers.authorization)).toEqual(
      Array(5).fill(undefined),
    )
    expect(await storedToken()).toBe('secret')
  })

  it('does not reach one by a path that looks like a host', async () => {
    const host = third.url.slice('http:'.length)
    for (const path of [host, `/${host}`, host.replaceAll('/', '\\'), `/\t${host.slice(1)}`]) {
      await call('get', path)
    }
    expect(third.seen).toEqual([])
    expect(home.seen.length).toBe(4)
  })

  it('does not reach one by an interceptor that moves the request', async () => {
    await page.evaluate((url) => {
      api.intercept('request', (config) => ({ ...config, url }))
    }, third.url)
    await call('post', '/items', { a: 1 })
    expect(third.seen.map(({ method, body }) => [method, body])).toEqual([
      ['OPTIONS', ''],
      ['POST', '{"a":1}'],
    ])
    expect(tokens(third)).toEqual([
      [undefined, false],
      [undefined, false],
    ])
  })

  it('in a body is not carried on by a 307: the write fails', async () => {
    answer = (_, response) => response.writeHead(307, { Location: third.url + '/caught' }).end()
    expect(await call('post', '/items', { a: 1 })).toEqual({ name: 'TypeError', status: null })
    expect(await call('delete', '/items')).toEqual({ name: 'TypeError', status: null })
    expect(third.seen).toEqual([])
  })

  it.each([302, 307, 308])('as Bearer is not carried on by a %i', async (status) => {
    answer = (_, response) => response.writeHead(status, { Location: third.url + '/caught' }).end()
    expect(await call('get', '/items')).toEqual({ data: 'third' })
    expect(await call('post', '/items', 'text')).toEqual({ data: 'third' })
    expect(third.seen.filter(({ headers }) => headers.authorization !== undefined)).toEqual([])
    expect(await storedToken()).toBe('secret')
  })

  it('follows redirects within its origin where the call says so', async () => {
    answer = (request, response) => {
      if (request.url === '/items') response.writeHead(307, { Location: '/moved' }).end()
      else json(response, request.headers.authorization)
    }
    expect(await call('get', '/items')).toEqual({ data: 'Bearer secret' })
    const data = await page.evaluate(
      () => api.post('/items', {}, { redirect: 'follow' }) as Promise<unknown>,
    )
    expect(data).toBe('Bearer secret')
  })

  it('is sent from a frame made by srcdoc, whose address is not the origin', async () => {
    answer = (request, response) => json(response, request.headers.authorization ?? null)
    const data = await page.evaluate(async (source) => {
      const frame = document.createElement('iframe')
      frame.srcdoc = source
      const loaded = new Promise((resolve) => (frame.onload = resolve))
      document.body.append(frame)
      await loaded
      const inner = (frame.contentWindow as unknown as { api: PlainClient }).api
      inner.configure({ auth: true })
      return inner.get('/items') as Promise<unknown>
    }, html)
    expect(data).toBe('Bearer secret')
  })
})

describe('two tabs', () => {
  let other: Page
  beforeEach(async () => {
    other = await openPage()
    await configure('')
    await configure('', other)
    home.seen.length = 0
  })

  it('share login, rotation and logout', async () => {
    answer = (request, response) => {
      if (request.url !== '/me') response.setHeader('FreshToken', request.url.slice(1))
      json(response, request.headers.authorization ?? null)
    }
    await call('post', '/one', {})
    expect(await call('get', '/me', undefined, other)).toEqual({ data: 'Bearer one' })
    await call('get', '/two', undefined, other)
    expect(await call('get', '/me')).toEqual({ data: 'Bearer two' })
    await other.evaluate(() => {
      localStorage.removeItem('app_token')
    })
    expect(await call('get', '/me')).toEqual({ data: null })
  })

  it.each([
    ['logout', null],
    ['login', 'other user'],
  ])('keep a %s that another tab did while a request ran', async (_, value) => {
    await storeToken('old')
    let finish: () => void = () => undefined
    const arrived = new Promise<void>((resolve) => {
      answer = (_, response) => {
        finish = () => {
          response.setHeader('FreshToken', 'fresh')
          json(response, 'done')
        }
        resolve()
      }
    })
    const running = call('get', '/slow')
    await arrived
    await other.evaluate((token) => {
      if (token === null) localStorage.removeItem('app_token')
      else localStorage.setItem('app_token', token)
    }, value)
    finish()
    expect(await running).toEqual({ data: 'done' })
    expect(await storedToken()).toBe(value)
  })
})

describe('a page', () => {
  it('with blocked storage keeps the token for itself', async () => {
    const outcome = await page.evaluate(
      async ([source, url]) => {
        const frame = document.createElement('iframe')
        frame.sandbox.add('allow-scripts')
        frame.srcdoc = `${source}<script>
          const blocked = (() => { try { localStorage; return false } catch { return true } })()
          api.configure({ baseUrl: '${url}', auth: true })
          api.post('/login', { name: 'Ann', password: 'lovelace' })
            .then(() => api.get('/me'))
            .then((me) => ({ blocked, name: me.name }), (error) => ({ blocked, error: String(error) }))
            .then((outcome) => parent.postMessage(outcome, '*'))
        </script>`
        const message = new Promise<unknown>((resolve) => {
          window.addEventListener('message', (event) => {
            resolve(event.data)
          })
        })
        document.body.append(frame)
        return message
      },
      [html.replace('/filigree', home.url + '/filigree'), shop.url],
    )
    expect(outcome).toEqual({ blocked: true, name: 'Ann' })
  })

  it('offline gets the platform’s error, and goes on when it is back', async () => {
    answer = (_, response) => json(response, 'here')
    await context.setOffline(true)
    expect(await call('get', '/items')).toEqual({ name: 'TypeError', status: null })
    await context.setOffline(false)
    expect(await call('get', '/items')).toEqual({ data: 'here' })
  })

  it.each(['/never', '/half'])('gets TimeoutError from an answer that hangs: %s', async (path) => {
    answer = (request, response) => {
      if (request.url === '/half') response.setHeader('Content-Type', 'text/plain').write('half')
    }
    const outcome = await page.evaluate(
      (address) => api.get(address, { timeout: 300 }).catch((error: Error) => error.name),
      path,
    )
    expect(outcome).toBe('TimeoutError')
  })

  it('gets the reason of its signal in the middle of a body', async () => {
    answer = (_, response) => response.setHeader('Content-Type', 'text/plain').write('half')
    const outcome = await page.evaluate(async () => {
      const controller = new AbortController()
      const running = api.get('/half', { signal: controller.signal })
      api.intercept('response', () => undefined)
      setTimeout(() => {
        controller.abort(new Error('enough'))
      }, 100)
      return running.catch((error: Error) => error.message) as Promise<unknown>
    })
    expect(outcome).toBe('enough')
  })

  it('gets bytes as a Blob and sends them', async () => {
    answer = (request, response) =>
      response.setHeader('Content-Type', 'image/png').end(`${request.method} ${request.body}`)
    const outcome = await page.evaluate(async () => {
      const headers = { 'Content-Type': 'image/png' }
      const blob = await api.post<Blob>('/photo', new Uint8Array([97, 98]), { headers })
      return [blob.type, await blob.text()]
    })
    expect(outcome).toEqual(['image/png', 'POST ab'])
    expect(home.seen[0]!.headers['content-type']).toBe('image/png')
  })
})
