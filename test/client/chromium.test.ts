/** The published script and module in a real browser. Functions given to `evaluate` run in the page. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Application } from 'filigree'
import type { Page } from 'playwright-core'
import type { PlainClient } from '../../client/index.js'
import {
  call,
  configure,
  html,
  json,
  startPages,
  storedToken,
  storeToken,
  type Pages,
} from './published-page.js'
import { signToken, startShop } from './shop-application.js'

declare const api: PlainClient

let pages: Pages
let shop: Application
let page: Page

beforeAll(async () => {
  pages = await startPages()
  shop = await startShop()
})
afterAll(async () => {
  await pages.close()
  await shop.close()
})
beforeEach(async () => {
  page = await pages.visit()
})
afterEach(() => page.context().close())

describe('the script', () => {
  it('adds window.api and no other name to the page', async () => {
    const names = () => Object.getOwnPropertyNames(globalThis).sort()
    const withScript = await page.evaluate(names)
    const empty = await page.context().newPage()
    await empty.goto(pages.home.url + '/filigree.min.js')
    const without = new Set(await empty.evaluate(names))
    expect(withScript.filter((name) => !without.has(name))).toEqual(['api'])
  })

  it('sends to the page’s own origin by default', async () => {
    pages.answer = (request, response) => {
      json(response, { url: request.url })
    }
    expect(await call(page, 'get', '/items?a=1')).toEqual({ data: { url: '/items?a=1' } })
  })
})

describe('the module', () => {
  it('makes clients that work on their own', async () => {
    pages.answer = (request, response) => {
      json(response, request.headers.authorization ?? null)
    }
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
  beforeEach(() => configure(page, shop.url))

  it('log in, and rotate through the exposed header', async () => {
    expect(await call(page, 'post', '/login', { name: 'Ann', password: 'lovelace' })).toEqual({
      data: { ok: true },
    })
    expect(await storedToken(page)).toMatch(/^ey/)
    const old = signToken('Bob')
    await storeToken(page, old)
    expect(await call(page, 'get', '/me')).toMatchObject({ data: { name: 'Bob' } })
    expect(await storedToken(page)).not.toBe(old)
    expect(await call(page, 'delete', '/items/7')).toEqual({ data: { id: 7, formToken: true } })
  })

  it('show errors of every status to the page', async () => {
    expect(await call(page, 'get', '/me')).toEqual({ name: 'Error', status: 401 })
    expect(await call(page, 'get', '/nowhere')).toEqual({ name: 'Error', status: 404 })
    await storeToken(page, signToken('Bob'))
    expect(await call(page, 'get', '/me/forbidden')).toEqual({ name: 'Error', status: 403 })
    expect(await call(page, 'post', '/items', { name: 7 })).toEqual({ name: 'Error', status: 400 })
  })

  it('upload 20 MB', async () => {
    await storeToken(page, signToken('Bob'))
    const data = await page.evaluate(() => {
      const form = new FormData()
      form.append('title', 'Sunset')
      form.append('photo', new File([new Uint8Array(20 * 1024 * 1024)], 'sunset.png'))
      return api.post<unknown>('/items/photos', form)
    })
    expect(data).toEqual({
      body: { title: 'Sunset' },
      name: 'sunset.png',
      size: 20 * 1024 * 1024,
      formToken: true,
    })
  })

  it('take a form of another frame', async () => {
    await storeToken(page, signToken('Bob'))
    const data = await page.evaluate(() => {
      const frame = document.body.appendChild(document.createElement('iframe'))
      const OtherForm = (frame.contentWindow as unknown as { FormData: typeof FormData }).FormData
      const form = new OtherForm()
      form.append('photo', new Blob(['abc']), 'a.txt')
      return api.post<unknown>('/items/photos', form)
    })
    expect(data).toMatchObject({ name: 'a.txt', size: 3, formToken: true })
  })
})

describe('pre-flights', () => {
  beforeEach(() => configure(page, pages.home.localhost))
  const methods = () => pages.home.seen.map((request) => request.method)

  it('are not needed to read in public', async () => {
    await call(page, 'get', '/items')
    expect(methods()).toEqual(['GET'])
  })

  it('go before what carries a token or JSON', async () => {
    await call(page, 'post', '/items', { a: 1 })
    await storeToken(page, 't')
    await call(page, 'get', '/me')
    expect(methods()).toEqual(['OPTIONS', 'POST', 'OPTIONS', 'GET'])
    expect(pages.home.seen[0]!.headers['access-control-request-headers']).toBe('content-type')
    expect(pages.home.seen[2]!.headers['access-control-request-headers']).toBe('authorization')
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
      [html.replace('/filigree', pages.home.url + '/filigree'), shop.url],
    )
    expect(outcome).toEqual({ blocked: true, name: 'Ann' })
  })

  it('offline gets the platform’s error, and goes on when it is back', async () => {
    pages.answer = (_, response) => {
      json(response, 'here')
    }
    await page.context().setOffline(true)
    expect(await call(page, 'get', '/items')).toEqual({ name: 'TypeError', status: null })
    await page.context().setOffline(false)
    expect(await call(page, 'get', '/items')).toEqual({ data: 'here' })
  })

  it.each(['/never', '/half'])('gets TimeoutError from an answer that hangs: %s', async (path) => {
    pages.answer = (request, response) => {
      if (request.url === '/half') response.setHeader('Content-Type', 'text/plain').write('half')
    }
    const outcome = await page.evaluate(
      (address) =>
        api.get(address, { timeout: 300 }).catch((error: unknown) => (error as Error).name),
      path,
    )
    expect(outcome).toBe('TimeoutError')
  })

  it('gets the reason of its signal in the middle of a body', async () => {
    pages.answer = (_, response) => response.setHeader('Content-Type', 'text/plain').write('half')
    const outcome = await page.evaluate(async () => {
      const controller = new AbortController()
      const running = api.get<unknown>('/half', { signal: controller.signal })
      api.intercept('response', () => undefined)
      setTimeout(() => {
        controller.abort(new Error('enough'))
      }, 100)
      return running.catch((error: unknown) => (error as Error).message)
    })
    expect(outcome).toBe('enough')
  })

  it('gets bytes as a Blob and sends them', async () => {
    pages.answer = (request, response) =>
      response.setHeader('Content-Type', 'image/png').end(`${request.method} ${request.body}`)
    const outcome = await page.evaluate(async () => {
      const headers = { 'Content-Type': 'image/png' }
      const blob = await api.post<Blob>('/photo', new Uint8Array([97, 98]), { headers })
      return [blob.type, await blob.text()]
    })
    expect(outcome).toEqual(['image/png', 'POST ab'])
    expect(pages.home.seen[0]!.headers['content-type']).toBe('image/png')
  })
})
