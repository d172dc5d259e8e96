/** Source: decisions, Operations. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Clock,
  Controller,
  Field,
  Get,
  HttpError,
  Module,
  NoAuth,
  Post,
  Put,
  Record,
  reply,
  type Application,
  type Generated,
  type Session,
  type UploadedFiles,
} from '../../src/index.js'
import { idempotent } from '../../src/modules/idempotent/idempotent.js'
import { TestClock } from '../../src/modules/testing/testing.js'
import { startBothEngines } from '../records/both-engines.js'

class Order {
  @Field('integer') amount!: number
}

let drawn = 0

class Ticket {
  @Field('string') text!: string
  @Field('integer', { default: () => ++drawn }) number!: number
}

const engines = await startBothEngines()

let writeCount = 0
let release: () => void = () => undefined
let arrived: () => void = () => undefined

@Controller('/orders')
class OrderController {
  @Post('/', { body: Order }) create(body: Order) {
    writeCount++
    return reply({ number: writeCount, amount: body.amount }, 201).header(
      'Location',
      `/orders/${writeCount}`,
    )
  }
  @Post('/with-cookie') withCookie() {
    return reply({ number: ++writeCount }).cookie('last', String(writeCount))
  }
  @Put('/<id:int>', { body: Order }) put(id: number, body: Order) {
    writeCount++
    return { id, number: writeCount, amount: body.amount }
  }
  @Post('/fails') fails() {
    writeCount++
    throw new HttpError(409, 'Sold out.')
  }
  @NoAuth @Post('/slow') async slow() {
    await new Promise<void>((resolve) => {
      release = resolve
      arrived()
    })
    return { slow: true }
  }
  @NoAuth @Post('/of-visitor') ofVisitor(session: Session) {
    session.visits = Number(session.visits ?? 0) + 1
    return { number: ++writeCount }
  }
  @NoAuth @Post('/of-basic') ofBasic(headers: { [name: string]: string }) {
    return { number: ++writeCount, by: headers.authorization }
  }
  @NoAuth @Post('/of-cookie') ofCookie(cookies: { [name: string]: string }) {
    return { number: ++writeCount, cart: cookies.cart }
  }
  @Post('/signed-in') signedIn() {
    return reply({ number: ++writeCount }).freshToken('a.b.c')
  }
  @Post('/stamped', { body: Ticket }) stamped(body: Ticket) {
    return reply(body, 201)
  }
  @Post('/files') files(files: UploadedFiles) {
    return { number: ++writeCount, names: Object.keys(files) }
  }
  @Post('/raw') raw(rawBody: Buffer) {
    return { number: ++writeCount, length: rawBody.length }
  }
  @Post('/varied') varied() {
    return reply({})
      .header('Vary', 'Accept')
      .header('Vary', 'X-Shop')
      .header('Link', '</a>; rel="a"')
  }
  @Get('/') list() {
    return []
  }
}

@Record({ version: true })
class Parcel {
  @Field('id') id!: number
  @Field('string') to!: string
}

@Controller('/parcels', { crud: Parcel })
class ParcelController {}

@Record
class Stamp {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('datetime', { default: 'now' }) at!: Generated<string>
}

@Controller('/stamps', { crud: Stamp })
class StampController {}

@Controller('/bills', { version: '1' })
class OldBills {
  @NoAuth @Post('/') create() {
    return { version: 1 }
  }
}

@Controller('/bills', { version: '2' })
class NewBills {
  @NoAuth @Post('/') create() {
    return { version: 2 }
  }
}

@Module({ controllers: [OldBills, NewBills], imports: [idempotent()] })
class VersionsModule {}

@Module({
  controllers: [OrderController, ParcelController, StampController],
  records: [Parcel, Stamp],
  imports: [idempotent()],
})
class AppModule {}

let app: Application
let tokens: Record<string, string>

beforeAll(async () => {
  app = await bootstrap(AppModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    database: 'sqlite::memory:',
    docs: { title: 'T', version: '1' },
  })
  const auth = app.get(Auth)
  tokens = { ann: await auth.getToken({ sub: 'ann' }), bob: await auth.getToken({ sub: 'bob' }) }
})
afterAll(() => app.close())

function send(key: string | undefined, body: unknown, path = '/orders', more: RequestInit = {}) {
  return fetch(app.url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    ...more,
    headers: {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${tokens.ann}`,
      ...(key === undefined ? {} : { 'Idempotency-Key': key }),
      ...(more.headers as Record<string, string> | undefined),
    },
  })
}

describe('idempotent', () => {
  it('runs a write once, and repeats its response for every retry', async () => {
    const first = await send('a', { amount: 2 })
    const repeated = await send('"a"', { amount: 2 })
    expect([first.status, repeated.status]).toEqual([201, 201])
    const body = await first.text()
    expect(await repeated.text()).toBe(body)
    expect(repeated.headers.get('location')).toBe(first.headers.get('location'))
    expect(repeated.headers.get('content-type')).toBe(first.headers.get('content-type'))
    expect(repeated.headers.get('idempotent-replayed')).toBe('true')
  })

  it('stores no response with a credential, and does not repeat its write', async () => {
    const first = await send('cookie', {}, '/orders/with-cookie')
    const before = writeCount
    const repeated = await send('cookie', {}, '/orders/with-cookie')
    expect([first.status, first.headers.get('set-cookie')]).toEqual([
      200,
      expect.stringMatching(/^last=/),
    ])
    expect([repeated.status, await repeated.json(), writeCount]).toEqual([
      409,
      {
        code: 'IDEMPOTENCY_DONE',
        error:
          'The first request with this Idempotency-Key was done, but its response is not stored.',
      },
      before,
    ])
  })

  it('repeats responses of crud writes, with all their headers', async () => {
    const first = await send('p', { to: 'Ann' }, '/parcels')
    const repeated = await send('p', { to: 'Ann' }, '/parcels')
    const partsOf = (response: Response) => [
      response.status,
      ...['etag', 'location', 'vary'].map((name) => response.headers.get(name)),
    ]
    expect(partsOf(first)).toEqual([201, '"1"', '/parcels/1', expect.anything()])
    expect(partsOf(repeated)).toEqual(partsOf(first))
    const exposed = 'access-control-expose-headers'
    expect(first.headers.get(exposed)).toBe('FreshToken, ETag')
    expect(repeated.headers.get(exposed)).toBe('FreshToken, ETag, Idempotent-Replayed')
    expect(await repeated.json()).toEqual({ id: 1, to: 'Ann', version: 1 })
    const varied = await send('w', {}, '/orders/varied')
    const variedAgain = await send('w', {}, '/orders/varied')
    expect(variedAgain.headers.get('vary')).toBe(varied.headers.get('vary'))
    expect(variedAgain.headers.get('vary')).toMatch(/Accept, X-Shop/)
    expect(variedAgain.headers.get('link')).toBe('</a>; rel="a"')
  })

  it('compares requests as they were sent, without defaults that differ each time', async () => {
    for (const path of ['/stamps', '/orders/stamped']) {
      const first = await send('s', { text: 'one' }, path)
      const repeated = await send('s', { text: 'one' }, path)
      expect([path, first.status, repeated.status]).toEqual([path, 201, 201])
      expect(await repeated.text()).toBe(await first.text())
      expect((await send('s', { text: 'two' }, path)).status).toBe(422)
      expect((await send('s', { text: 'one' }, `${path}?page=2`)).status).toBe(422)
    }
  })

  it('identifies a key by user, method and path, and refuses it for another body', async () => {
    const before = writeCount
    const other = await send('a', { amount: 3 })
    expect(other.status).toBe(422)
    expect(writeCount).toBe(before)
    const bob = { headers: { Authorization: `Bearer ${tokens.bob}` } }
    expect((await send('a', { amount: 3 }, '/orders', bob)).status).toBe(201)
    expect((await send('a', { amount: 3 }, '/orders/1', { method: 'PUT' })).status).toBe(200)
    expect((await send('a', { amount: 3 }, '/orders/2', { method: 'PUT' })).status).toBe(200)
    expect(writeCount).toBe(before + 3)
  })

  it('never sends one visitor the response of another', async () => {
    const first = await send(undefined, {}, '/orders/of-visitor')
    const second = await send(undefined, {}, '/orders/of-visitor')
    const cookies = [first, second].map((one) => one.headers.get('set-cookie')?.split(';')[0] ?? '')
    const number = async (path: string, headers: { [name: string]: string }) => {
      const response = await send('visit', {}, path, { headers })
      return ((await response.json()) as { number?: number }).number ?? response.status
    }
    const visitor = (cookie = '') => number('/orders/of-visitor', { cookie })
    const one = await visitor(cookies[0])
    expect(await visitor(cookies[1])).toBe(one + 1)
    expect(await visitor(`${cookies[0] ?? ''}; seen=2`)).toBe(one)
    const basic = (authorization: string) => number('/orders/of-basic', { authorization })
    const ann = await basic('Basic YW5u')
    expect(await basic('Basic Ym9i')).toBe(ann + 1)
    expect(await basic('Basic YW5u')).toBe(ann)
    const cart = (name: string) => number('/orders/of-cookie', { cookie: `cart=${name}` })
    const annCart = await cart('ann')
    expect([await cart('bob'), await cart('ann')]).toEqual([422, annCart])
  })

  it('refuses a key that was used for another version of a route', async () => {
    const versioned = await bootstrap(VersionsModule, {
      ...{ port: 0, host: '127.0.0.1', logger: false, database: 'sqlite::memory:' },
      versions: { by: 'header' },
    })
    try {
      const statusOf = async (version: string): Promise<number> => {
        const headers = { 'Idempotency-Key': 'k', 'X-API-Version': version }
        return (await fetch(`${versioned.url}/bills`, { method: 'POST', headers })).status
      }
      expect([await statusOf('1'), await statusOf('1'), await statusOf('2')]).toEqual([
        200, 200, 422,
      ])
    } finally {
      await versioned.close()
    }
  })

  it('stores only successes, and nothing without a key', async () => {
    const before = writeCount
    for (const key of ['f', 'f', undefined, undefined])
      expect((await send(key, {}, '/orders/fails')).status).toBe(409)
    expect(writeCount).toBe(before + 4)
    expect((await send('v', { amount: 'x' })).status).toBe(400)
    expect((await send('v', { amount: 1 })).status).toBe(201)
  })

  it('returns 409 while the first request is running', async () => {
    const started = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const first = send('slow', {}, '/orders/slow')
    await started
    const meanwhile = await send('slow', {}, '/orders/slow')
    expect([meanwhile.status, meanwhile.headers.get('retry-after')]).toEqual([409, '1'])
    release()
    expect((await first).status).toBe(200)
    expect(await (await send('slow', {}, '/orders/slow')).json()).toEqual({ slow: true })
  })

  it('refuses keys over 255 characters, before the body', async () => {
    expect((await send('k'.repeat(256), { amount: 1 })).status).toBe(400)
    expect((await send('k'.repeat(255), { amount: 1 })).status).toBe(201)
    expect((await send('', { amount: 1 })).status).toBe(400)
  })

  it('is in the document, at writes', () => {
    const { '/orders': orders } = app.openapi.paths ?? {}
    expect(orders?.post?.parameters).toEqual([
      expect.objectContaining({ name: 'Idempotency-Key', in: 'header' }),
    ])
    expect(orders?.post?.responses).toHaveProperty('422')
    expect(orders?.get?.parameters).toBeUndefined()
  })
})

describe('the body of a request with a key', () => {
  const upload = async (key: string, content: string, path = '/orders/files') => {
    const body = new FormData()
    body.append('photo', new File([content], 'a.txt', { type: 'text/plain' }))
    const headers = { authorization: `Bearer ${tokens.ann}`, 'idempotency-key': key }
    const response = await fetch(app.url + path, { method: 'POST', body, headers })
    return [response.status, response.headers.get('idempotent-replayed')]
  }

  it('is compared by the content of its files', async () => {
    expect(await upload('file', 'first file')).toEqual([200, null])
    expect(await upload('file', 'first file')).toEqual([200, 'true'])
    expect(await upload('file', 'other file')).toEqual([422, null])
    // Longer than one chunk of the file system.
    const long = 'x'.repeat(300_000)
    expect(await upload('long', `${long}1`)).toEqual([200, null])
    expect(await upload('long', `${long}2`)).toEqual([422, null])
  })

  it.each(['application/json', 'text/csv', 'application/octet-stream'])(
    'is compared by its bytes: %s',
    async (type) => {
      const post = async (body: string) =>
        (
          await fetch(`${app.url}/orders/raw`, {
            method: 'POST',
            body,
            headers: {
              authorization: `Bearer ${tokens.ann}`,
              'idempotency-key': type,
              'content-type': type,
            },
          })
        ).status
      expect([await post('1'), await post('1'), await post('2')]).toEqual([200, 200, 422])
    },
  )
})

describe('a token in the second half of its lifetime', () => {
  let rotating: Application
  const clock = new TestClock()
  beforeAll(async () => {
    rotating = await bootstrap(AppModule, {
      ...{ listen: false, logger: false, database: 'sqlite::memory:' },
      auth: { cookie: true },
      override: [[Clock, clock]],
    })
  })
  afterAll(() => rotating.close())

  const post = (headers: { [name: string]: string }, path = '/orders/varied') =>
    rotating.inject({ method: 'POST', url: path, headers })

  it.each([
    ['a header', 'freshtoken', (token: string) => ({ authorization: `Bearer ${token}` })],
    [
      'a cookie',
      'set-cookie',
      (token: string) => ({ cookie: `app_token=${token}`, 'sec-fetch-site': 'same-origin' }),
    ],
  ] as const)(
    'by %s: the write is repeated, and each response has a next token',
    async (_, name, from) => {
      const caller = from(await rotating.get(Auth).getToken({ sub: name }))
      await clock.advance('45m')
      const headers = { ...caller, 'idempotency-key': name }
      const first = await post(headers)
      const repeated = await post(headers)
      expect([first.status, repeated.status]).toEqual([200, 200])
      expect(repeated.headers['idempotent-replayed']).toBe('true')
      for (const response of [first, repeated]) expect(response.headers[name]).toContain('ey')
      expect(repeated.headers.link).toBe(first.headers.link)
    },
  )

  it('changes nothing for a token that the handler sends: its response is not stored', async () => {
    const token = await rotating.get(Auth).getToken({ sub: 'ann' })
    await clock.advance('45m')
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': 'sign-in' }
    const statuses = []
    for (let attempt = 0; attempt < 2; attempt++)
      statuses.push((await post(headers, '/orders/signed-in')).status)
    expect(statuses).toEqual([200, 409])
  })
})

describe.each(engines)('maxKeys on %s', (_, open) => {
  @Controller('/notes')
  class NoteController {
    @Post('/') @NoAuth create(body: unknown) {
      if (body === 'fail') throw new HttpError(409)
      return { number: ++writeCount }
    }
    @Post('/mine') mine() {
      return { number: ++writeCount }
    }
  }
  @Module({ controllers: [NoteController], imports: [idempotent({ maxKeys: 3, keep: '1h' })] })
  class NotesModule {}

  it('limits the keys of each caller, and neither repeated requests nor other callers', async () => {
    const clock = new TestClock()
    const database = await open()
    const limited = await bootstrap(NotesModule, {
      ...{ listen: false, logger: false, database, trustProxy: 1 },
      override: [[Clock, clock]],
    })
    const post = (key: string, body = 'text', headers: { [name: string]: string } = {}) =>
      limited.inject({
        method: 'POST',
        url: headers.authorization === undefined ? '/notes' : '/notes/mine',
        headers: {
          'content-type': 'application/json',
          'x-forwarded-for': '2001:db8::1',
          'idempotency-key': key,
          ...headers,
        },
        body: JSON.stringify(body),
      })
    expect((await post('failed', 'fail')).status).toBe(409)
    for (const key of ['1', '2', '3'])
      // What callers choose freely makes no other caller.
      expect(
        (
          await post(key, 'text', {
            'x-forwarded-for': `2001:db8::${key}`,
            cookie: `app_session=${key}`,
          })
        ).status,
      ).toBe(200)
    const refused = await post('4')
    expect([refused.status, refused.json()]).toEqual([
      429,
      { error: 'You have used too many Idempotency-Keys.', code: 'IDEMPOTENCY_TOO_MANY_KEYS' },
    ])
    const wait = Number(refused.headers['retry-after'])
    expect(wait > 3000 && wait <= 3600).toBe(true)
    const again = await post('1', 'text', {
      'x-forwarded-for': '2001:db8::1',
      cookie: 'app_session=1',
    })
    expect([
      again.status,
      (await post('1', 'text', { 'x-forwarded-for': '192.0.2.1' })).status,
    ]).toEqual([200, 200])
    const authorization = `Bearer ${await limited.get(Auth).getToken({ sub: 'ann' })}`
    expect((await post('1', 'text', { authorization })).status).toBe(200)
    await clock.advance('61m')
    expect((await post('5')).status).toBe(200)
    await limited.close()
  })
})
