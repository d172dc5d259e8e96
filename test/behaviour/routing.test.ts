import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Delete,
  Get,
  HttpError,
  Module,
  NoAuth,
  Patch,
  Post,
  Put,
  type Application,
  type HttpRequest,
} from '../../src/index.js'

@Controller('/items')
class ItemController {
  @Get('/<id:int>')
  show(id: number) {
    return { id, kind: typeof id }
  }

  @Get('/{x:float}')
  near(x: number) {
    return { x, kind: typeof x }
  }

  @Get('/<name>')
  named(name: string) {
    return { name }
  }

  @Get('/new')
  blank() {
    return { blank: true }
  }

  @Get('/<name>/files/<rest:path>')
  files(rest: string, name: string) {
    return { rest, name }
  }

  @Get
  list() {
    return [1, 2]
  }

  @Post('/')
  @NoAuth
  create(body: unknown) {
    return { body }
  }

  @Put('/<id:int>')
  @NoAuth
  replace(id: number) {
    return { replaced: id }
  }

  @Patch('/<id:int>')
  @NoAuth
  change(id: number) {
    return { changed: id }
  }

  @Delete('/<id:int>')
  @NoAuth()
  remove(id: number) {
    return { removed: id }
  }
}

@Controller
class EverythingController {
  @Get('/everything/<id:int>')
  all(
    request: HttpRequest,
    query: object,
    headers: Record<string, string>,
    cookies: object,
    id: number,
  ) {
    return { id, params: request.params, query, accept: headers.accept, cookies, ip: request.ip }
  }

  @Get('/given/<id:int>', { args: ['id', 'query'] })
  explicitArguments(a: number, b: object) {
    return { a, b }
  }

  @Get('/one')
  @Get('/uno')
  twice() {
    return 1
  }

  @Get('/async')
  async delayed() {
    return Promise.resolve({ delayed: true })
  }

  @Get('/broken')
  broken() {
    throw new HttpError(409, 'Taken.')
  }
}

@Module({ controllers: [ItemController, EverythingController] })
class AppModule {}

let app: Application

beforeAll(async () => {
  app = await bootstrap(AppModule, { listen: false, logger: false })
})
afterAll(() => app.close())

describe('Route declaration rules', () => {
  it.each([
    [
      'Path parameter {name:int}: the handler receives an integer',
      '/items/7',
      { id: 7, kind: 'number' },
    ],
    [
      'Path parameter {name:float}: the handler receives a float',
      '/items/7.5',
      { x: 7.5, kind: 'number' },
    ],
    ['Path parameter {name}: matches a string segment', '/items/l%C3%A4mp', { name: 'lämp' }],
    ['Precedence: static text wins over parameters', '/items/new', { blank: true }],
    [
      'Path parameter {name:path}: matches several segments, slashes included',
      '/items/a/files/b/c%20d',
      { rest: 'b/c d', name: 'a' },
    ],
    ['Trailing slash: /a/ is /a', '/items/7/', { id: 7, kind: 'number' }],
    ['A bare verb answers at the path of its controller', '/items', [1, 2]],
    ['A method may have several routes', '/uno', 1],
    ['A handler may answer by a promise', '/async', { delayed: true }],
    ['Handler arguments can be stated', '/given/5?q=x', { a: 5, b: { q: 'x' } }],
  ])('%s', async (_, url, expected) => {
    const answer = await app.inject(url)
    expect([answer.status, answer.json()]).toEqual([200, expected])
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  })

  it('Handler arguments: they are bound by name, in any order', async () => {
    const answer = await app.inject({
      url: '/everything/3?a=1&a=2&b=x%20y',
      headers: { accept: 'x/y', cookie: 'c=1; d=%20' },
    })
    expect(answer.json()).toEqual({
      id: 3,
      params: { id: 3 },
      query: { a: ['1', '2'], b: 'x y' },
      accept: 'x/y',
      cookies: { c: '1', d: ' ' },
      ip: '127.0.0.1',
    })
  })

  it.each([
    ['PUT', { replaced: 7 }],
    ['PATCH', { changed: 7 }],
    ['DELETE', { removed: 7 }],
  ])('Methods: %s reaches its handler', async (method, expected) => {
    const answer = await app.inject({ method, url: '/items/7' })
    expect([answer.status, answer.json()]).toEqual([200, expected])
  })

  it('Unknown path: 404 with error', async () => {
    const answer = await app.inject('/nothing')
    expect([answer.status, answer.json()]).toEqual([404, { error: 'Not found', code: 'NOT_FOUND' }])
  })

  it('Wrong method: 405 with Allow and error', async () => {
    const answer = await app.inject({ method: 'POST', url: '/items/7' })
    expect([answer.status, answer.json()]).toEqual([
      405,
      { error: 'Method not allowed', code: 'METHOD_NOT_ALLOWED' },
    ])
    expect(answer.headers.allow).toBe('GET, HEAD, PUT, PATCH, DELETE, OPTIONS')
  })

  it.each(['/items/%ZZ', '/nothing/%E0%A4%A', '/items/a%00b'])(
    'Percent-encoding: %s is malformed and 400',
    async (url) => {
      const answer = await app.inject(url)
      expect(answer.status).toBe(400)
      expect(answer.json()).toEqual({
        error: expect.stringContaining('not well-formed'),
        code: 'MALFORMED_ENCODING',
      })
    },
  )

  it.each(['/Items/7', '/items//7', '//items/7', '/items/7/8'])(
    '%s matches nothing',
    async (url) => {
      expect((await app.inject(url)).status).toBe(404)
    },
  )

  it('HEAD: answered by the GET route with the same headers, without a body', async () => {
    const get = await app.inject('/items/7')
    const head = await app.inject({ method: 'HEAD', url: '/items/7' })
    expect([head.status, head.headers, head.body]).toEqual([200, get.headers, ''])
  })

  it('OPTIONS: a known path is 204 with Allow; an unknown one is 404', async () => {
    const existing = await app.inject({ method: 'OPTIONS', url: '/items/7' })
    expect([existing.status, existing.headers.allow, existing.body]).toEqual([
      204,
      'GET, HEAD, PUT, PATCH, DELETE, OPTIONS',
      '',
    ])
    expect(existing.headers['access-control-allow-origin']).toBe('*')
    expect((await app.inject({ method: 'OPTIONS', url: '/nothing' })).status).toBe(404)
  })

  it.each(['/items/7', '/nothing'])('OPTIONS: a pre-flight of %s is 204', async (url) => {
    const answer = await app.inject({
      method: 'OPTIONS',
      url,
      headers: { origin: 'https://shop.example', 'access-control-request-method': 'PUT' },
    })
    expect(answer.status).toBe(204)
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
      'access-control-allow-headers':
        'Origin, X-Requested-With, Content-Type, Accept, Authorization',
      'access-control-expose-headers': 'FreshToken',
      'access-control-max-age': expect.stringMatching(/^\d+$/),
    })
  })

  it('lists its routes', () => {
    expect(app.routes.find(({ name }) => name === 'ItemController.remove')).toEqual({
      method: 'DELETE',
      path: '/items/<id:int>',
      name: 'ItemController.remove',
      secured: false,
      operational: false,
      roles: [],
    })
  })
})
