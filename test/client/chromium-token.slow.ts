/** How far the token goes in a real browser. Functions given to `evaluate` run in the page. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import type { PlainClient } from '../../client/index.js'
import type { FixtureServer } from './browser.js'
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

declare const api: PlainClient
declare const localStorage: {
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

let pages: Pages
let page: Page

beforeAll(async () => {
  pages = await startPages()
})
afterAll(async () => {
  await pages.close()
})
beforeEach(async () => {
  page = await pages.visit()
})
afterEach(() => page.context().close())

describe('the token', () => {
  const tokens = (server: FixtureServer) =>
    server.seen.map(({ headers, body }) => [headers.authorization, body.includes('secret')])

  beforeEach(async () => {
    await configure(page, '')
    await storeToken(page, 'secret')
  })

  it('does not reach a third origin', async () => {
    await call(page, 'get', pages.third.url + '/items')
    await call(page, 'post', pages.third.url + '/items', { a: 1 })
    await call(page, 'post', pages.home.localhost + '/items', { a: 1 })
    expect(tokens(pages.third).filter(([, inBody]) => inBody)).toEqual([])
    expect(
      [...pages.third.seen, ...pages.home.seen].map((request) => request.headers.authorization),
    ).toEqual(Array(5).fill(undefined))
    expect(await storedToken(page)).toBe('secret')
  })

  it('does not reach one by a path that looks like a host', async () => {
    const host = pages.third.url.slice('http:'.length)
    for (const path of [host, `/${host}`, host.replaceAll('/', '\\'), `/\t${host.slice(1)}`]) {
      await call(page, 'get', path)
    }
    expect(pages.third.seen).toEqual([])
    expect(pages.home.seen.length).toBe(4)
  })

  it('does not reach one by an interceptor that moves the request', async () => {
    await page.evaluate((url) => {
      api.intercept('request', (config) => ({ ...config, url }))
    }, pages.third.url)
    await call(page, 'post', '/items', { a: 1 })
    expect(pages.third.seen.map(({ method, body }) => [method, body])).toEqual([
      ['OPTIONS', ''],
      ['POST', '{"a":1}'],
    ])
    expect(tokens(pages.third)).toEqual([
      [undefined, false],
      [undefined, false],
    ])
  })

  it('in a body is not carried on by a 307: the write fails', async () => {
    pages.answer = (_, response) =>
      response.writeHead(307, { Location: pages.third.url + '/caught' }).end()
    expect(await call(page, 'post', '/items', { a: 1 })).toEqual({
      name: 'TypeError',
      status: null,
    })
    expect(await call(page, 'delete', '/items')).toEqual({ name: 'TypeError', status: null })
    expect(pages.third.seen).toEqual([])
  })

  it.each([302, 307, 308])('as Bearer is not carried on by a %i', async (status) => {
    pages.answer = (_, response) =>
      response.writeHead(status, { Location: pages.third.url + '/caught' }).end()
    expect(await call(page, 'get', '/items')).toEqual({ data: 'third' })
    expect(await call(page, 'post', '/items', 'text')).toEqual({ data: 'third' })
    expect(pages.third.seen.filter(({ headers }) => headers.authorization !== undefined)).toEqual(
      [],
    )
    expect(await storedToken(page)).toBe('secret')
  })

  it('follows redirects within its origin where the call says so', async () => {
    pages.answer = (request, response) => {
      if (request.url === '/items') response.writeHead(307, { Location: '/moved' }).end()
      else json(response, request.headers.authorization)
    }
    expect(await call(page, 'get', '/items')).toEqual({ data: 'Bearer secret' })
    const data = await page.evaluate(() => api.post<unknown>('/items', {}, { redirect: 'follow' }))
    expect(data).toBe('Bearer secret')
  })

  it('is sent from a frame made by srcdoc, whose address is not the origin', async () => {
    pages.answer = (request, response) => {
      json(response, request.headers.authorization ?? null)
    }
    const data = await page.evaluate(async (source) => {
      const frame = document.createElement('iframe')
      frame.srcdoc = source
      const loaded = new Promise((resolve) => (frame.onload = resolve))
      document.body.append(frame)
      await loaded
      const inner = (frame.contentWindow as unknown as { api: PlainClient }).api
      inner.configure({ auth: true })
      return inner.get<unknown>('/items')
    }, html)
    expect(data).toBe('Bearer secret')
  })
})

describe('two tabs', () => {
  let other: Page
  beforeEach(async () => {
    other = await pages.open(page.context())
    await configure(page, '')
    await configure(other, '')
    pages.home.seen.length = 0
  })

  it('share login, rotation and logout', async () => {
    pages.answer = (request, response) => {
      if (request.url !== '/me') response.setHeader('FreshToken', request.url.slice(1))
      json(response, request.headers.authorization ?? null)
    }
    await call(page, 'post', '/one', {})
    expect(await call(other, 'get', '/me')).toEqual({ data: 'Bearer one' })
    await call(other, 'get', '/two')
    expect(await call(page, 'get', '/me')).toEqual({ data: 'Bearer two' })
    await other.evaluate(() => {
      localStorage.removeItem('app_token')
    })
    expect(await call(page, 'get', '/me')).toEqual({ data: null })
  })

  it.each([
    ['logout', null],
    ['login', 'other user'],
  ])('keep a %s that another tab did while a request ran', async (_, value) => {
    await storeToken(page, 'old')
    let finish: () => void = () => undefined
    const arrived = new Promise<void>((resolve) => {
      pages.answer = (_, response) => {
        finish = () => {
          response.setHeader('FreshToken', 'fresh')
          json(response, 'done')
        }
        resolve()
      }
    })
    const running = call(page, 'get', '/slow')
    await arrived
    await other.evaluate((token) => {
      if (token === null) localStorage.removeItem('app_token')
      else localStorage.setItem('app_token', token)
    }, value)
    finish()
    expect(await running).toEqual({ data: 'done' })
    expect(await storedToken(page)).toBe(value)
  })
})
