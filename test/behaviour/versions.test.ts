/** Source: decisions, Routing. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Doc,
  Get,
  HttpError,
  Module,
  Post,
  Secured,
  type Application,
  type BootstrapOptions,
  type RequestEvent,
} from '../../src/index.js'

@Doc({ deprecated: { since: '2026-01-01', until: new Date('2027-01-01T00:00:00Z') } })
@Controller('/items', { version: '1' })
class OldItems {
  @Get('/<id:int>') show(id: number) {
    if (id === 0) throw new HttpError(404)
    return { id, version: 1 }
  }
  @Post('/') create() {
    return {}
  }
}

@Controller('/items', { version: '2' })
class NewItems {
  @Get('/<id:int>') show(id: number) {
    return { id, version: 2 }
  }
  @Get('/') @Doc({ deprecated: true }) list() {
    return []
  }
  @Get('/closed') @Secured closed() {
    return {}
  }
}

@Controller('/about')
class About {
  @Get('/') about() {
    return { about: true }
  }
}

@Module({ controllers: [OldItems, NewItems, About] })
class AppModule {}

let app: Application | undefined
afterEach(() => app?.close())

async function start(options: BootstrapOptions = {}) {
  const base = { port: 0, host: '127.0.0.1', logger: false, times: { linger: 20 } } as const
  app = await bootstrap(AppModule, { ...base, ...options })
  const { url } = app
  return (path: string, headers: { [name: string]: string } = {}, method = 'GET') =>
    fetch(url + path, { headers, method })
}

describe('versions of an API', () => {
  it('are in the path by default, and a path without version is 404', async () => {
    const request = await start()
    expect(await (await request('/v1/items/7')).json()).toEqual({ id: 7, version: 1 })
    expect(await (await request('/v2/items/7')).json()).toEqual({ id: 7, version: 2 })
    expect((await request('/items/7')).status).toBe(404)
    expect((await request('/v3/items/7')).status).toBe(404)
    expect(await (await request('/about')).json()).toEqual({ about: true })
  })

  it('come after the base path of the application', async () => {
    const request = await start({ basePath: '/api', versions: { by: 'path' } })
    expect((await request('/api/v2/items/7')).status).toBe(200)
    expect((await request('/v2/items/7')).status).toBe(404)
  })

  it.each([
    [
      { by: 'header' as const },
      { 'X-API-Version': '1' },
      { 'X-API-Version': '2' },
      'X-API-Version',
    ],
    [{ by: 'header' as const, header: 'Api' }, { Api: '1' }, { api: '2' }, 'Api'],
    [
      { by: 'media' as const },
      { Accept: 'application/json; version=1' },
      { Accept: 'text/html, application/vnd.shop.v2+json;q=0.9' },
      'Accept',
    ],
  ])('are selected by %j', async (versions, one, two, vary) => {
    const request = await start({ versions })
    const first = await request('/items/7', one)
    expect(await first.json()).toEqual({ id: 7, version: 1 })
    expect(first.headers.get('vary')).toBe(vary)
    expect(await (await request('/items/7', two)).json()).toEqual({ id: 7, version: 2 })
    expect((await request('/items/7')).status).toBe(404)
    expect((await request('/v1/items/7', one)).status).toBe(404)
    expect((await request('/about', two)).status).toBe(200)
    const wrong = await request('/items/7', two, 'DELETE')
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
    expect((await request('/items', {}, 'OPTIONS')).headers.get('allow')).toBe(
      'GET, HEAD, POST, OPTIONS',
    )
  })

  it('have one OpenAPI document each', async () => {
    const request = await start()
    const read = async (query: string) =>
      Object.keys(
        ((await (await request(`/swagger/openapi.json${query}`)).json()) as { paths: object })
          .paths,
      )
    expect(await read('?version=1')).toEqual(['/v1/items/{id}', '/v1/items', '/about'])
    expect(await read('?version=2')).toContain('/v2/items/{id}')
    expect(await read('?version=2')).not.toContain('/v1/items')
    expect(await read('')).toEqual(await read('?version=2'))
    expect((await request('/swagger/openapi.json?version=3')).status).toBe(404)
    expect((await request('/swagger/openapi.yaml?version=1')).status).toBe(200)
  })

  it('are a header parameter in the document', async () => {
    await start({ versions: { by: 'header' } })
    expect(app?.openapi.paths?.['/items/{id}']?.get?.parameters).toContainEqual(
      expect.objectContaining({ name: 'X-API-Version', schema: { const: '2' }, required: true }),
    )
  })
})

describe('@Doc({ deprecated })', () => {
  it('sets headers on every response, including HEAD, errors and 401', async () => {
    const request = await start()
    const answers = [
      await request('/v1/items/7'),
      await request('/v1/items/7', {}, 'HEAD'),
      await request('/v1/items/0'),
      await request('/v1/items', {}, 'POST'),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 401])
    for (const { headers } of answers) {
      expect(headers.get('deprecation')).toBe('@1767225600')
      expect(headers.get('sunset')).toBe('Fri, 01 Jan 2027 00:00:00 GMT')
    }
    const plain = await request('/v2/items')
    expect([plain.headers.get('deprecation'), plain.headers.get('sunset')]).toEqual([null, null])
    expect(app?.openapi.paths?.['/v2/items']?.get?.deprecated).toBe(true)
  })

  it('adds to the headers of code that sees the request before its route', async () => {
    const request = await start()
    const readId = ({ request: { id } }: RequestEvent): string => id
    const started = 'tracing:filigree:request:start'
    const subscriber = (message: unknown): void => void readId(message as RequestEvent)
    subscribe(started, subscriber)
    try {
      const { headers } = await request('/v1/items/7', { 'x-request-id': 'abc-1' })
      expect([headers.get('x-request-id'), headers.has('deprecation')]).toEqual(['abc-1', true])
    } finally {
      unsubscribe(started, subscriber)
    }
  })

  it('with invalid dates or versions stops the start', async () => {
    @Controller('/x', { version: 'v 2' })
    class Faulty {
      @Get('/') @Doc({ deprecated: { since: '2026-02-01', until: '2026-01-01' } }) x() {
        return 1
      }
      @Get('/y') @Doc({ deprecated: { since: 'soon' } }) y() {
        return 1
      }
    }
    @Module({ controllers: [Faulty] })
    class FaultyModule {}
    const versions = { by: 'query' as 'path' }
    await expect(
      bootstrap(FaultyModule, { listen: false, logger: false, versions }),
    ).rejects.toMatchObject({
      problems: [
        { message: 'bootstrap versions: by is "query".' },
        { message: '@Controller of Faulty: version is "v 2".' },
        { message: expect.stringContaining('deprecated ends before it begins') },
        { message: expect.stringContaining('deprecated has no date as since') },
      ],
    })
  })
})
