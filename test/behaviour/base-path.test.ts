/** Source: decisions, Routing. */
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Field,
  Get,
  Module,
  Record,
  redirect,
  reply,
  type Application,
  type BootstrapOptions,
} from '../../src/index.js'

const quiet: BootstrapOptions = {
  listen: false,
  logger: false,
  env: { APP_API_KEY: 'operator' },
  database: 'sqlite::memory:',
}

@Record
class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Controller('/items')
class ItemController {
  @Get('/<id:int>') show(id: number) {
    return { id }
  }
  @Get('/to/<rest:path>') to(rest: string) {
    return redirect(decodeURIComponent(rest))
  }
  @Get('/created') created() {
    return reply({ id: 7 }, 201).header('Location', '/items/7')
  }
}

@Controller('/lamps', { crud: Lamp })
class LampController {}

@Module({ controllers: [ItemController, LampController], records: [Lamp] })
class ItemModule {}

let app: Application
beforeAll(async () => {
  app = await bootstrap(ItemModule, {
    ...quiet,
    basePath: '/api',
    client: true,
    static: { '/files': './docs' },
  })
})
afterAll(() => app.close())

describe('basePath', () => {
  it.each([
    '/api/items/7',
    '/api/lamps',
    '/api/swagger',
    '/api/swagger/openapi.json',
    '/api/swagger/openapi.yaml',
    '/api/swagger/page.js',
    '/api/filigree.js',
    '/api/filigree.min.js.map',
    '/api/files/client.md',
    '/api/graphql?query={lamps{id}}',
  ])('%s is found', async (url) => {
    expect((await app.inject(url)).status).toBe(200)
  })

  it.each([
    '/items/7',
    '/swagger',
    '/graphql?query={lamps{id}}',
    '/filigree.js',
    '/files/client.md',
    '/apiitems/7',
    '/api2/items/7',
    '/api',
    '/',
  ])('%s is 404', async (url) => {
    expect((await app.inject(url)).status).toBe(404)
  })

  it.each([
    ['/', '/api/'],
    ['/items/7', '/api/items/7'],
    ['/api/items/7', '/api/items/7'],
    ['/api', '/api'],
    ['/api?a=1', '/api?a=1'],
    ['/apiary', '/api/apiary'],
    ['//host/items', '//host/items'],
    ['https://shop.example/items', 'https://shop.example/items'],
    ['items/7', 'items/7'],
    ['../items', '../items'],
  ])('a Location of %s is sent as %s', async (location, sent) => {
    const answer = await app.inject(
      `/api/items/to/${encodeURIComponent(encodeURIComponent(location))}`,
    )
    expect(answer.headers.location).toBe(sent)
  })

  it('is added to the Location of a reply', async () => {
    expect((await app.inject('/api/items/created')).headers.location).toBe('/api/items/7')
  })

  it('is in the servers of the document only', async () => {
    expect(app.openapi.servers).toEqual([{ url: '/api' }])
    expect(Object.keys(app.openapi.paths ?? {})).toContain('/items/{id}')
    const servers = ['https://shop.example', 'https://shop.example/api/']
    await using other = await bootstrap(ItemModule, {
      ...quiet,
      basePath: '/api',
      docs: { servers },
    })
    expect(other.openapi.servers?.map(({ url }) => url)).toEqual([
      'https://shop.example/api',
      'https://shop.example/api/',
    ])
  })

  it('is in the URLs of the GraphQL IDE', async () => {
    const page = await app.inject({ url: '/api/graphql', headers: { accept: 'text/html' } })
    expect(page.body).toContain('src="/api/graphql/ide/ide.js"')
    expect(page.body).toContain('href="/api/graphql/ide/ide.css"')
  })

  it('the served client sends its requests below it', async () => {
    const { body } = await app.inject('/api/filigree.js')
    const requestedUrls: string[] = []
    const fetch = (url: string) => {
      requestedUrls.push(url)
      return Promise.resolve(
        new Response('{}', { headers: { 'content-type': 'application/json' } }),
      )
    }
    const window: { api?: { get: (path: string) => Promise<unknown> } } = {}
    const globals = {
      window,
      fetch,
      URL,
      Headers,
      AbortSignal,
      Response,
      location: { href: 'http://x/' },
    }
    runInNewContext(body, globals)
    await window.api?.get('/items/7')
    expect(requestedUrls).toEqual(['/api/items/7'])
  })

  it('is in the paths of app.routes', () => {
    expect(app.routes[0]?.path).toBe('/api/items/<id:int>')
  })

  it.each(['api', '/api//v1', '/a b', '/api?', '/../api', 7 as unknown as string])(
    '%s is refused at the start',
    async (basePath) => {
      await expect(bootstrap(ItemModule, { ...quiet, basePath })).rejects.toThrow('basePath')
    },
  )

  it('/ is the same as no base path', async () => {
    await using plain = await bootstrap(ItemModule, { ...quiet, basePath: '/' })
    expect((await plain.inject('/items/7')).status).toBe(200)
    expect(plain.openapi.servers).toEqual([{ url: '/' }])
  })
})
