import { request as sendRequest } from 'node:http'
import { afterEach, describe, expect, it } from '@jest/globals'
import pino from 'pino'
import {
  Auth,
  bootstrap,
  Controller,
  events,
  Get,
  HttpError,
  Module,
  NoAuth,
  Post,
  Secured,
  type Application,
  type HttpRequest,
} from 'filigree'
import { accessLog } from 'filigree/access-log'

type Line = Record<string, unknown>

let opened: (() => void) | undefined

@Controller('/items')
class ItemController {
  @Get('/<id:int>') show(id: number, request: HttpRequest): object {
    request.log.info({ item: id }, 'found')
    request.log.child({ step: 2 }).warn('second')
    return { id }
  }
  @Get('/broken') broken(): object {
    throw new Error('broken')
  }
  @Get('/mine') @Secured mine(): object {
    return {}
  }
  @Get('/stream') stream(): unknown {
    return events(
      (async function* () {
        yield { data: 'one' }
        opened?.()
        await new Promise(() => undefined)
      })(),
    )
  }
  @Get('/refused') refused(): object {
    throw new HttpError(409)
  }
  @Post('/') @NoAuth create(body: unknown): unknown {
    return body
  }
}

let app: Application
let lines: Line[] = []
let waiting: (() => void) | undefined

async function start(options?: Parameters<typeof accessLog>[0]): Promise<void> {
  lines = []
  @Module({ imports: [accessLog(options)], controllers: [ItemController] })
  class AppModule {}
  const stream = {
    write: (text: string) => {
      lines.push(JSON.parse(text) as Line)
      waiting?.()
    },
  }
  const env = { APP_API_KEY: 'a-key-of-sixteen-letters' }
  const logger = pino({}, stream)
  const times = { linger: 20 }
  app = await bootstrap(AppModule, { port: 0, host: '127.0.0.1', logger, env, times })
}

/** The lines of the access log, as soon as there are `count`. */
async function logged(count = 1): Promise<Line[]> {
  for (;;) {
    const found = lines.filter(({ msg }) => msg === 'request')
    if (found.length >= count) return found
    await new Promise<void>((resolve) => (waiting = resolve))
  }
}

async function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  const response = await fetch(app.url + path, { headers })
  await response.text()
  return response
}

describe('accessLog', () => {
  afterEach(() => app.close())

  it('writes one line per request', async () => {
    await start()
    const response = await get('/items/7?token=hush', { 'x-request-id': 'r-1' })
    expect(response.headers.get('x-request-id')).toBe('r-1')
    const [line] = await logged()
    expect(line).toMatchObject({
      level: 30,
      method: 'GET',
      route: '/items/<id:int>',
      status: 200,
      bytes: 8,
      requestId: 'r-1',
      address: '127.0.0.1',
    })
    expect(line!.ms).toBeGreaterThan(0)
    expect(JSON.stringify(line)).not.toMatch(/hush|items\/7/)
  })

  it('gives each request its own random UUID', async () => {
    await start()
    const responses = await Promise.all(Array.from({ length: 400 }, () => app.inject('/items/7')))
    const ids = responses.map(({ headers }) => String(headers['x-request-id']))
    expect(new Set(ids).size).toBe(400)
    const version4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
    expect(ids.filter((id) => !version4.test(id))).toEqual([])
  })

  it('logs no path without a route, and sends the id of the line with each response', async () => {
    await start()
    const response = await get('/no/such/path')
    const [line] = await logged()
    expect(line).toMatchObject({ route: null, status: 404 })
    expect(line!.requestId).toBe(response.headers.get('x-request-id'))
    expect(JSON.stringify(line)).not.toContain('such')
  })

  it('logs the caller, and never the token', async () => {
    await start()
    const token = await app.get(Auth).getToken({ sub: 'ada' })
    await get('/items/mine', { authorization: `Bearer ${token}` })
    const [line] = await logged()
    expect(line).toMatchObject({ status: 200, route: '/items/mine', userId: 'ada' })
    expect(JSON.stringify(lines)).not.toContain(token)
  })

  it('writes streams when they end, and reports that the client has left', async () => {
    await start()
    const untilOpened = new Promise<void>((resolve) => (opened = resolve))
    const client = sendRequest(`${app.url}/items/stream`)
    client.on('error', () => undefined)
    client.end()
    client.on('response', (response) => response.resume())
    await untilOpened
    expect(lines.filter(({ msg }) => msg === 'request')).toEqual([])
    client.destroy()
    const [line] = await logged()
    expect(line).toMatchObject({ route: '/items/stream', status: 200, aborted: true })
    expect(line!.bytes).toBeGreaterThan(0)
  })

  it('hides the configured names, however they are written', async () => {
    await start({ redact: ['x-secret', 'pin'] })
    await get('/items/7?pin=1234&%70in=1234&PIN=1234&q=lamp&access_token=1234', {
      'X-Secret': '1234',
      authorization: 'Basic 1234',
      'x-plain': '1234',
      'user-agent': 'plain',
      referer: 'http://a/b?pin=1234&q=1',
    })
    const [line] = await logged()
    expect(JSON.stringify(line)).not.toContain('1234')
    const hidden = '[redacted]'
    expect(line!.query).toMatchObject({
      pin: [hidden, hidden],
      PIN: hidden,
      q: 'lamp',
      access_token: hidden,
    })
    expect(line!.headers).toMatchObject({
      'x-secret': hidden,
      'x-plain': hidden,
      'user-agent': 'plain',
    })
  })

  it('hides lists, members and operators of hidden names, and idempotency keys', async () => {
    await start({ redact: ['pin'], headers: true })
    const query = 'token[]=1234&token[0]=1234&user[pin]=1234&pin.eq=1234&%70in%5b%5D=1234&q[]=lamp'
    await get(`/items/7?${query}`, {
      'idempotency-key': '1234',
      referer: 'http://a/b?token[]=1234&q=1',
    })
    const [line] = await logged()
    expect(JSON.stringify(line)).not.toContain('1234')
    expect(line!.query).toMatchObject({ 'q[]': 'lamp' })
    expect(line!.headers).toMatchObject({ 'idempotency-key': '[redacted]' })
  })

  it('hides names with the endings of secret names', async () => {
    await start({ query: true, headers: true })
    await get(
      '/items/7?reset_token=1234&newPassword=1234&client-secret=1234&login.otp=1234&jwt=1234',
      {
        'x-amz-security-token': '1234',
        'x-hub-signature': '1234',
      },
    )
    const [line] = await logged()
    expect(JSON.stringify(line)).not.toContain('1234')
  })

  it('logs headers that the application names, except credentials', async () => {
    await start({ headers: ['x-shop', 'X-Auth', 'authorization'] })
    await get('/items/7', {
      'x-shop': 'lamps',
      'x-auth': 'named',
      authorization: 'Basic 1234',
      'user-agent': 'not named',
    })
    const [line] = await logged()
    expect(line!.headers).toEqual({
      'x-shop': 'lamps',
      'x-auth': 'named',
      authorization: '[redacted]',
    })
  })

  it('hides the query of a GraphQL operation, and logs a search parameter named query', async () => {
    await start({ query: true })
    await get(`/items/7?query=${encodeURIComponent('{ me(password: "1234") { id } }')}`)
    await get('/items/7?query=lamp')
    const [first, second] = await logged(2)
    expect(first!.query).toEqual({ query: '[redacted]' })
    expect(second!.query).toEqual({ query: 'lamp' })
  })

  it('logs a sample, and every failure', async () => {
    await start({ sample: 0 })
    await get('/items/7')
    await get('/items/broken')
    const found = await logged()
    expect(found.map(({ status }) => status)).toEqual([500])
  })

  it('gives request.log the id of the request', async () => {
    await start()
    await get('/items/7', { 'x-request-id': 'r-2' })
    await logged()
    expect(lines.find(({ msg }) => msg === 'found')).toMatchObject({ item: 7, requestId: 'r-2' })
    const second = lines.find(({ msg }) => msg === 'second')
    expect(second).toMatchObject({ step: 2, requestId: 'r-2', level: 40 })
  })
})

it('refuses options without effect', async () => {
  await start()
  @Module({ imports: [accessLog({ sample: 2 }), accessLog({ every: 1 } as never)] })
  class FaultyModule {}
  const starting = bootstrap(FaultyModule, { listen: false, logger: false, env: {} })
  await expect(starting).rejects.toThrow(/sample cannot be 2[^]*unknown option "every"/)
})
