/** What a browser gets for an error: a page, where every other client gets JSON. */
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  escapeHtml,
  Field,
  Get,
  HttpError,
  Module,
  NoAuth,
  Post,
  Secured,
  Use,
  type Application,
  type BootstrapOptions,
  type Interceptor,
  type Log,
  type Next,
  type PageError,
} from 'filigree'
import { silentLog } from '../silent-log.js'
import { env } from './gated-application.js'

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'
const htmlType = 'text/html; charset=utf-8'
const jsonType = 'application/json; charset=utf-8'

class Order {
  @Field('string', { maxLength: 4 }) name!: string
  @Field('integer', { min: 1 }) amount!: number
}

class Passes implements Interceptor {
  static readonly before = 'gate'
  intercept(_request: unknown, next: Next): Promise<unknown> {
    return next()
  }
}

@Controller('/orders')
class Orders {
  @Get('/') list(): object {
    return []
  }
  @Get('/<id:int>') show(id: number): object {
    throw new HttpError(404, `There is no order ${id} <b>&"'`)
  }
  @Get('/broken') broken(): object {
    throw new Error('the password is hunter2')
  }
  @Get('/watched') @Use(Passes) watched(): object {
    throw new HttpError(409, 'Taken', { headers: { 'X-Reason': 'taken' } })
  }
  @Get('/mine') @Secured mine(): object {
    return {}
  }
  @Get('/later') later(): object {
    throw new HttpError(503, 'Later', {
      headers: { 'Retry-After': '7', 'Cache-Control': 'private' },
    })
  }
  @Post('/', { body: Order }) @NoAuth create(body: Order): object {
    return body
  }
}
@Module({ controllers: [Orders] })
class AppModule {}

let app: Application
afterEach(() => app.close())

async function start(options: Partial<BootstrapOptions> = {}, NODE_ENV = 'development') {
  const base = {
    port: 0,
    host: '127.0.0.1',
    logger: silentLog,
    times: { linger: 20 },
  } as const
  app = await bootstrap(AppModule, { ...base, env: { ...env, NODE_ENV }, ...options })
}

async function get(path: string, headers: Record<string, string> = {}, init: RequestInit = {}) {
  const response = await fetch(app.url + path, {
    headers: { accept: browser, ...headers },
    ...init,
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const typeOf = ({ headers }: { headers: Headers }) => headers.get('content-type')

describe('a browser', () => {
  it('gets a page with the id of the request, which the log has too', async () => {
    await start()
    const { status, headers, text } = await get('/orders/broken')
    expect([status, headers.get('content-type')]).toEqual([500, htmlType])
    expect(text).toMatch(/^<!doctype html>\n<html lang="en">/)
    expect(text).toContain('<title>Something went wrong (500)</title>')
    expect(text).toContain(`Request id: <code>${headers.get('x-request-id') ?? '?'}</code>`)
    expect(text).not.toContain('hunter2')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('vary')).toMatch(/\bAccept\b/)
    const policy = headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'; style-src 'sha256-")
    expect(policy).not.toContain('unsafe')
  })

  it('reads the message of the error, as text', async () => {
    await start()
    const { status, text } = await get('/orders/7')
    expect(status).toBe(404)
    expect(text).toContain('There is no order 7 &lt;b&gt;&amp;&quot;&#39;')
    expect(text).not.toContain('<b>')
    // The route exists, so no other route is meant.
    expect(text).not.toContain('Nearest routes')
  })

  it('reads the message of each field after it sent a form', async () => {
    await start()
    const body = new URLSearchParams({ name: 'ladder', amount: '0' })
    const { status, headers, text } = await get('/orders', {}, { method: 'POST', body })
    expect([status, headers.get('content-type')]).toEqual([400, htmlType])
    expect(text.match(/<li>.*?<\/li>/g)).toEqual([
      expect.stringContaining('name'),
      expect.stringContaining('amount'),
    ])
  })

  it('gets the headers of the error', async () => {
    await start()
    const later = await get('/orders/later')
    expect([later.status, typeOf(later)]).toEqual([503, htmlType])
    expect(later.headers.get('retry-after')).toBe('7')
    expect(later.headers.get('cache-control')).toBe('private')
    expect((await get('/orders/mine')).headers.get('www-authenticate')).toMatch(/^Bearer/)
    const watched = await get('/orders/watched')
    expect([watched.status, typeOf(watched)]).toEqual([409, htmlType])
    expect(watched.headers.get('x-reason')).toBe('taken')
    const head = await get('/orders/7', {}, { method: 'HEAD' })
    expect([head.status, typeOf(head), head.text]).toEqual([404, htmlType, ''])
  })
})

describe('every other client', () => {
  it.each([
    ['*/*'],
    ['application/json'],
    ['application/json, text/plain, */*'],
    ['text/html, application/json;q=0.5'],
    ['text/html;q=0, */*'],
    ['text/html; q=0.0'],
    ['text/html, application/vnd.shop.v2+json'],
    ['text/htmlx'],
  ])('gets JSON with Accept: %s', async (accept) => {
    await start()
    const { headers, text } = await get('/orders/9', { accept })
    expect([headers.get('content-type'), JSON.parse(text)]).toEqual([
      jsonType,
      { error: `There is no order 9 <b>&"'`, code: 'NOT_FOUND' },
    ])
    expect(headers.get('vary')).toBe('Accept')
    expect(headers.get('content-security-policy')).toBeNull()
  })

  it('gets problem+json if it accepts it', async () => {
    await start()
    const { headers, text } = await get('/no', { accept: 'text/html, application/problem+json' })
    expect(headers.get('content-type')).toBe('application/problem+json')
    expect(JSON.parse(text)).toMatchObject({ status: 404, error: 'Not found' })
  })

  it('gets JSON for a body of JSON', async () => {
    await start()
    const init = { method: 'POST', body: '{"name":"a"}' }
    const answer = await get('/orders', { 'content-type': 'application/json' }, init)
    expect([answer.status, typeOf(answer)]).toEqual([400, jsonType])
  })
})

describe('the nearest routes', () => {
  const listed = ({ text }: { text: string }): string[] =>
    [...text.matchAll(/<li>(.*?)<\/li>/g)].map(([, item = '']) =>
      item
        .replace(/<[^>]+>/g, '')
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>'),
    )

  it.each([
    ['/ordres', 'GET /orders'],
    ['/order', 'GET /orders'],
    ['/orders/brokne', 'GET /orders/broken'],
    ['/orders/x7', 'GET /orders/<id:int>'],
    ['/v1/orders/7', 'GET /orders/<id:int>'],
    ['/swager', 'GET /swagger'],
  ])('of %s begin with %s', async (path, first) => {
    await start()
    const answer = await get(path)
    expect([answer.status, listed(answer)[0]]).toEqual([404, first])
  })

  it('are links if a browser can open them', async () => {
    await start()
    const { text } = await get('/ordres')
    expect(text).toContain('<a href="/orders">/orders</a>')
    expect(text).not.toContain('href="/orders/&lt;')
  })

  it('have the other methods of the path', async () => {
    await start()
    const answer = await get('/orders', {}, { method: 'DELETE' })
    expect(answer.status).toBe(405)
    expect(listed(answer).slice(0, 2)).toEqual(['GET /orders', 'POST /orders'])
  })

  it('include the prefix of the application', async () => {
    await start({ basePath: '/api' })
    expect(listed(await get('/orders')).slice(0, 1)).toEqual(['GET /api/orders'])
    expect(listed(await get('/api/swagge'))[0]).toBe('GET /api/swagger')
  })

  it('are found for paths of any length', async () => {
    await start()
    for (const path of [`/${'a/'.repeat(3000)}`, `/${'a'.repeat(6000)}`, '/%', '/%E0%A4%A'])
      expect((await get(path)).status).toBeGreaterThanOrEqual(400)
  })

  it('are shown neither in production nor to other machines', async () => {
    await start()
    for (const name of ['x-forwarded-for', 'via', 'cf-ray'])
      expect(listed(await get('/ordres', { [name]: '192.0.2.1' }))).toEqual([])
    const foreign = await app.inject({
      url: '/ordres',
      headers: { accept: browser, host: 'shop.example' },
    })
    expect(foreign.status).toBe(404)
    expect(foreign.body).not.toContain('Nearest routes')
    await app.close()
    await start({ publicUrl: 'https://shop.example' }, 'production')
    const { status, text } = await get('/ordres')
    expect([status, listed({ text })]).toEqual([404, []])
    expect(text).toContain('Page not found')
    expect(text).toContain('Request id')
  })
})

describe('errorPage', () => {
  it('replaces the page', async () => {
    const errors: PageError[] = []
    await start({
      errorPage: (error, request) => {
        errors.push(error)
        return `<!doctype html><title>${error.status} ${escapeHtml(request.path)}</title>`
      },
    })
    const answer = await get('/orders/7?a=1')
    expect([answer.status, typeOf(answer)]).toEqual([404, htmlType])
    expect(answer.text).toBe('<!doctype html><title>404 /orders/7</title>')
    expect(answer.headers.get('content-security-policy')).toBeNull()
    await get('/orders/broken')
    await get('/ordres')
    expect(errors).toMatchObject([
      {
        ...{ status: 404, code: 'NOT_FOUND', fields: [], nearestRoutes: [] },
        requestId: answer.headers.get('x-request-id'),
      },
      { status: 500, message: 'Internal server error' },
      { status: 404, nearestRoutes: expect.arrayContaining([{ method: 'GET', path: '/orders' }]) },
    ])
    expect((await get('/orders/7', { accept: '*/*' })).text).toContain('{"error"')
    expect(errors).toHaveLength(3)
  })

  it('gets the status of errors.form', async () => {
    await start({
      errors: { form: ({ status, message }) => ({ status: status + 10, body: { message } }) },
      errorPage: ({ status }) => String(status),
    })
    const page = await get('/ordres')
    expect([page.status, page.text]).toEqual([414, '414'])
    const json = await get('/ordres', { accept: '*/*' })
    expect([json.status, json.text]).toEqual([414, '{"message":"Not found"}'])
  })

  it('is off with false', async () => {
    await start({ errorPage: false })
    const answer = await get('/ordres')
    expect([answer.status, typeOf(answer)]).toEqual([404, jsonType])
  })

  it.each([
    ['throws', () => JSON.parse('{') as string],
    ['returns no text', () => 7 as never],
  ])('that %s is logged, and the browser gets JSON', async (_what, errorPage) => {
    const logged: string[] = []
    const error: Log['error'] = (_details, message) => void logged.push(message)
    await start({ errorPage, logger: { ...silentLog, error } })
    const answer = await get('/ordres')
    expect([answer.status, typeOf(answer)]).toEqual([500, jsonType])
    expect(logged).toEqual(['request failed'])
  })

  it('must be a function', async () => {
    await start()
    const starting = bootstrap(AppModule, { listen: false, logger: false, errorPage: 'x' as never })
    await expect(starting).rejects.toThrow(/bootstrap: errorPage cannot be used/)
  })
})
