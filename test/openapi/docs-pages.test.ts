import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, Controller, Get, Module, type Application } from 'filigree'
import { FixtureModule } from './fixture-application.js'

const env = { APP_API_KEY: 'a-key-for-the-tests-alone' }
const quiet = { listen: false, logger: false, env } as const
let app: Application

beforeAll(async () => {
  app = await bootstrap(FixtureModule, quiet)
})

afterAll(() => app.close())

describe('/swagger', () => {
  it('is a page without inline script or style, under a policy that allows none', async () => {
    const { status, headers, body } = await app.inject('/swagger')
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    const policy = headers['content-security-policy']!
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';")
    expect(policy).toContain("connect-src 'self';")
    expect(policy).not.toContain('unsafe')
    expect(headers).toMatchObject({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    expect(body).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|https?:/)
  })

  it.each([
    ['/swagger', 'swagger/page.js'],
    ['/swagger/', 'page.js'],
  ])('at %s loads its parts from %s', async (url, part) => {
    expect((await app.inject(url)).body).toContain(`src="${part}"`)
  })

  it.each([
    ['swagger-ui-bundle.js', 'application/javascript; charset=utf-8'],
    ['swagger-ui.css', 'text/css; charset=utf-8'],
    ['favicon-32x32.png', 'image/png'],
    ['page.js', 'text/javascript; charset=utf-8'],
    ['page.css', 'text/css; charset=utf-8'],
  ])('serves %s with an ETag', async (name, type) => {
    const first = await app.inject(`/swagger/${name}`)
    expect(first.status).toBe(200)
    expect(first.headers['content-type']!.toLowerCase()).toBe(type)
    const headers = { 'if-none-match': first.headers.etag! }
    const second = await app.inject({ url: `/swagger/${name}`, headers })
    expect([second.status, second.body]).toEqual([304, ''])
  })

  it.each(['index.html', 'swagger-initializer.js', 'package.json', '..%2fpackage.json', 'none.js'])(
    'does not serve %s',
    async (name) => {
      const { status, body } = await app.inject(`/swagger/${name}`)
      expect([status, JSON.parse(body)]).toEqual([404, { error: 'Not found', code: 'NOT_FOUND' }])
    },
  )

  it('writes no text of the application into page or script', async () => {
    const docs = { title: '</script><script>evil(1)</script>' }
    await using titled = await bootstrap(FixtureModule, { ...quiet, docs })
    for (const url of ['/swagger', '/swagger/page.js']) {
      expect((await titled.inject(url)).body).not.toContain('evil')
    }
  })
})

describe('/swagger/openapi.json and .yaml', () => {
  it('are the document', async () => {
    const json = await app.inject('/swagger/openapi.json')
    expect(json.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(json.json()).toEqual(app.openapi)
    const yaml = await app.inject('/swagger/openapi.yaml')
    expect(yaml.headers['content-type']).toBe('application/yaml; charset=utf-8')
    expect(yaml.body).toMatch(
      /^openapi: 3\.1\.1\ninfo:\n {2}title: filigree\n {2}version: 0\.1\.0\n/,
    )
  })

  it.each([
    ['the same ETag', (etag: string) => etag, 304],
    ['the tag in a list, weak', (etag: string) => `"other", W/${etag}`, 304],
    ['any', () => '*', 304],
    ['another tag', () => '"other"', 200],
  ])('answer If-None-Match with %s', async (_, condition, expected) => {
    const { headers } = await app.inject('/swagger/openapi.json')
    const response = await app.inject({
      url: '/swagger/openapi.json',
      headers: { 'if-none-match': condition(headers.etag!) },
    })
    expect(response.status).toBe(expected)
    expect(response.headers.etag).toBe(headers.etag)
  })

  it('answer HEAD, and 405 to writes', async () => {
    const head = await app.inject({ method: 'HEAD', url: '/swagger/openapi.json' })
    expect([head.status, head.body]).toEqual([200, ''])
    const post = await app.inject({ method: 'POST', url: '/swagger/openapi.json' })
    expect([post.status, post.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS'])
  })
})

describe('docs', () => {
  it('are all off for false', async () => {
    await using off = await bootstrap(FixtureModule, { ...quiet, docs: false })
    for (const url of ['/swagger', '/swagger/openapi.json', '/swagger/swagger-ui.css']) {
      expect((await off.inject(url)).status).toBe(404)
    }
    expect(off.openapi.info.title).toBe('API')
  })

  it('have path, title, version, description, servers and tags', async () => {
    const docs = {
      path: '/api/docs',
      title: 'Shop',
      version: '2.3.4',
      description: 'Sells **things**.',
      servers: ['https://api.example.net/v2', { url: '/', description: 'Here' }],
      tags: { misc: 'The rest' },
    }
    await using app = await bootstrap(FixtureModule, { ...quiet, docs })
    expect((await app.inject('/swagger')).status).toBe(404)
    const page = await app.inject('/api/docs')
    expect(page.body).toContain('src="docs/page.js"')
    expect(page.headers['content-security-policy']).toContain(
      "connect-src 'self' https://api.example.net;",
    )
    expect((await app.inject('/api/docs/openapi.json')).json()).toMatchObject({
      info: { title: 'Shop', version: '2.3.4', description: 'Sells **things**.' },
      servers: [{ url: 'https://api.example.net/v2' }, { url: '/', description: 'Here' }],
      tags: [{ name: 'misc', description: 'The rest' }, { name: 'items' }, { name: 'Misc' }],
    })
  })

  it('secured closes the documents and leaves the page open', async () => {
    await using app = await bootstrap(FixtureModule, { ...quiet, docs: { secured: true } })
    for (const url of ['/swagger/openapi.json', '/swagger/openapi.yaml']) {
      expect((await app.inject(url)).status).toBe(401)
      expect((await app.inject({ url, token: env.APP_API_KEY })).status).toBe(200)
    }
    expect((await app.inject('/swagger')).status).toBe(200)
  })

  it("match after the application's own routes", async () => {
    @Controller('/swagger')
    class OwnController {
      @Get('/openapi.json')
      custom() {
        return { custom: true }
      }
    }
    @Module({ controllers: [OwnController] })
    class OwnModule {}
    await using app = await bootstrap(OwnModule, quiet)
    expect((await app.inject('/swagger/openapi.json')).json()).toEqual({ custom: true })
  })

  it('document an application without routes', async () => {
    @Module({})
    class EmptyModule {}
    await using app = await bootstrap(EmptyModule, quiet)
    expect(app.openapi).toMatchObject({ paths: {}, tags: [], components: { schemas: {} } })
  })
})
