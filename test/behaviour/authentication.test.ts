/** Source: specification, Authentication; decisions, Authentication and "Gate". Titles begin with the statement they show. */
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import jsonwebtoken from 'jsonwebtoken'
import {
  Auth,
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
  reply,
  Secured,
  type Application,
  type BootstrapOptions,
  type Claims,
  type HttpRequest,
  type InjectRequest,
  type InjectResponse,
} from 'filigree'
import { exchange, statusOf } from '../bootstrap/raw-client.js'

const apiKey = 'operator-0123456789abcdef'
const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
const privatePem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
const publicPem = pair.publicKey.export({ type: 'spki', format: 'pem' }) as string
const env = { APP_API_KEY: apiKey, APP_PRIVATE_KEY: privatePem }

const ran: string[] = []

@Controller('/items')
class ItemController {
  @Get('/') list(): object {
    return { ok: true }
  }
  @Post('/') create(body: unknown): object {
    ran.push('create')
    return { body }
  }
  @Put('/<id:int>') put(id: number): object {
    return { id }
  }
  @Patch('/<id:int>') patch(id: number): object {
    return { id }
  }
  @Delete('/<id:int>') remove(id: number): object {
    return { id }
  }
  @Get('/private') @Secured private(user: Claims | null, request: HttpRequest): object {
    return { sub: user?.sub ?? null, by: request.auth?.by }
  }
  @Post('/webhook') @NoAuth hook(body: unknown, user: Claims | null): object {
    return { body, user }
  }
  @Get('/admin') @Secured('admin') admin(): object {
    return { ok: true }
  }
  @Get('/both') @Secured({ roles: ['admin', 'audit'], all: true }) both(): object {
    return { ok: true }
  }
  @Get('/of/<sub>')
  @Secured((claims, request) => claims?.sub === request.params.sub)
  own(sub: string): object {
    return { sub }
  }
  @Get('/broken') @Secured broken(): never {
    throw new HttpError(404, 'Item not found')
  }
}

@Secured('admin')
@Controller('/closed')
class ClosedController {
  @Get('/') list(): object {
    return { ok: true }
  }
  @Get('/anybody') @Secured anybody(): object {
    return { ok: true }
  }
  @Get('/open') @NoAuth open(): object {
    return { ok: true }
  }
}

@Controller('/')
class LoginController {
  static inject = [Auth]
  constructor(private readonly auth: Auth) {}

  @Post('/login') @NoAuth async login(body: unknown): Promise<unknown> {
    const { password } = body as { password?: string }
    if (password !== 'lovelace') throw new HttpError(401, 'Wrong name or password')
    const token = await this.auth.getToken({ sub: 'ada', roles: ['admin'] }, { expiresIn: '1h' })
    return reply({ ok: true }).freshToken(token)
  }

  @Post('/logout') async logout(user: Claims): Promise<object> {
    await this.auth.revoke(user.jti ?? '')
    return { ok: true }
  }
}

@Module({ controllers: [ItemController, ClosedController, LoginController] })
class AppModule {}

const start = (options: BootstrapOptions = {}): Promise<Application> =>
  bootstrap(AppModule, { listen: false, logger: false, env, ...options })

let app: Application
let always: Application

beforeAll(async () => {
  app = await start()
  always = await start({ auth: { rotate: 'always' } })
})

afterAll(async () => {
  await app.close()
  await always.close()
})

const now = (): number => Math.floor(Date.now() / 1000)

/** A token by another library, signed with our key. */
const token = (claims: object = {}): string =>
  jsonwebtoken.sign({ sub: 'ada', exp: now() + 600, ...claims }, privatePem, { algorithm: 'RS256' })

const get = (url: string, bearer?: string, by = app): Promise<InjectResponse> =>
  by.inject({ url, ...(bearer === undefined ? {} : { token: bearer }) })

function expectUnauthorized(answer: InjectResponse): void {
  expect(answer.status).toBe(401)
  expect(answer.body).toBe('{"error":"Unauthorized"}')
  expect(answer.headers['www-authenticate']).toBe('Bearer')
  expect(answer.headers['content-type']).toMatch(/^application\/json/)
  expect(answer.headers['access-control-allow-origin']).toBe('*')
  expect(answer.headers.freshtoken).toBeUndefined()
}

describe('Authentication', () => {
  it('Authentication 1: GET and HEAD are public by default', async () => {
    expect((await get('/items')).status).toBe(200)
    expect((await app.inject({ method: 'HEAD', url: '/items' })).status).toBe(200)
  })

  const writes: InjectRequest[] = [
    { method: 'POST', url: '/items', json: {} },
    { method: 'PUT', url: '/items/7', json: {} },
    { method: 'PATCH', url: '/items/7', json: {} },
    { method: 'DELETE', url: '/items/7' },
  ]

  it.each(writes)('Authentication 2: $method needs a token by default', async (request) => {
    expectUnauthorized(await app.inject(request))
    expectUnauthorized(await app.inject({ ...request, token: 'wrong' }))
    expect((await app.inject({ ...request, token: apiKey })).status).toBe(200)
    expect((await app.inject({ ...request, token: token() })).status).toBe(200)
  })

  it('Authentication 2: the handler of a refused write does not run', async () => {
    ran.length = 0
    expectUnauthorized(await app.inject({ url: '/items', json: { name: 'Lamp' } }))
    expect(ran).toEqual([])
  })

  it('Authentication 2: 401 does not wait for the body', async () => {
    const listening = await start({ listen: true, port: 0, host: '127.0.0.1' })
    try {
      const answer = await exchange(
        listening.url,
        'POST /items HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n{',
        (text) => text.includes('}'),
      )
      expect(statusOf(answer)).toBe(401)
      expect(answer).toContain('{"error":"Unauthorized"}')
    } finally {
      await listening.close()
    }
  })

  it('Authentication 3: the static key and an RS256 token let in', async () => {
    expect((await get('/items/private', apiKey)).json()).toEqual({ sub: null, by: 'key' })
    expect((await get('/items/private', token())).json()).toEqual({ sub: 'ada', by: 'token' })
  })

  it.each([
    { key: undefined, sent: [''] },
    { key: '', sent: ['', ' '] },
    { key: '   ', sent: ['', '   '] },
  ])('Authentication 3: a static key $key lets nobody in', async ({ key, sent }) => {
    const keyless = await start({ env: { ...env, APP_API_KEY: key } })
    for (const bearer of sent) expectUnauthorized(await get('/items/private', bearer, keyless))
    expectUnauthorized(await get('/items/private', undefined, keyless))
    await keyless.close()
  })

  const forged = (): Record<string, string> => {
    const [header, payload, signature] = token().split('.') as [string, string, string]
    const hs = `${Buffer.from('{"alg":"HS256"}').toString('base64url')}.${payload}`
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    return {
      none: `Bearer ${none}.${payload}.`,
      hs256: `Bearer ${hs}.${createHmac('sha256', publicPem).update(hs).digest('base64url')}`,
      expired: `Bearer ${token({ exp: now() - 60 })}`,
      early: `Bearer ${token({ nbf: now() + 60 })}`,
      future: `Bearer ${token({ iat: now() + 60 })}`,
      altered: `Bearer ${header}.${payload}.${signature.slice(0, -8)}AAAAAAAA`,
      parts: `Bearer ${header}.${payload}`,
      basic: `Basic ${Buffer.from(`x:${apiKey}`).toString('base64')}`,
      lower: `bearer ${token()}`,
      prefix: `Bearer ${apiKey.slice(0, -1)}`,
      huge: `Bearer ${header}.${'A'.repeat(9000)}.${signature}`,
      empty: '',
    }
  }

  it.each(Object.keys(forged()))(
    'Authentication 3: %s is answered like any other',
    async (name) => {
      const authorization = forged()[name] ?? ''
      expectUnauthorized(await app.inject({ url: '/items/private', headers: { authorization } }))
    },
  )

  it('Authentication 3: two Authorization headers are 400', async () => {
    const listening = await start({ listen: true, port: 0, host: '127.0.0.1' })
    try {
      const header = `Authorization: Bearer ${apiKey}\r\n`
      const answer = await exchange(
        listening.url,
        `GET /items/private HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${header}${header}\r\n`,
      )
      expect(statusOf(answer)).toBe(400)
    } finally {
      await listening.close()
    }
  })

  it('Authentication 4: getToken makes a token that is good here and elsewhere', async () => {
    const made = await app.get(Auth).getToken({ sub: 'ada' })
    expect((await get('/items/private', made)).json()).toEqual({ sub: 'ada', by: 'token' })
    expect(jsonwebtoken.verify(made, publicPem, { algorithms: ['RS256'] })).toMatchObject({
      sub: 'ada',
    })
  })

  it('Authentication 5: @Secured makes a GET route need a token', async () => {
    expectUnauthorized(await get('/items/private'))
    expectUnauthorized(await app.inject({ method: 'HEAD', url: '/items/private' }).then(withBody))
    expect((await get('/items/private', apiKey)).status).toBe(200)
  })

  it('Authentication 5: @NoAuth makes a write route public', async () => {
    const answer = await app.inject({ url: '/items/webhook', json: { paid: true } })
    expect(answer.json()).toEqual({ body: { paid: true }, user: null })
  })

  it('Authentication 5: a public route does not look at tokens', async () => {
    const answer = await app.inject({ url: '/items/webhook', json: {}, token: token() })
    expect(answer.json()).toEqual({ body: {}, user: null })
    expect((await app.inject({ url: '/items/webhook', json: {}, token: 'bad' })).status).toBe(200)
  })

  it('Authentication 5: the nearest decorator counts whole', async () => {
    const plain = token()
    expectUnauthorized(await get('/closed'))
    expect((await get('/closed', plain)).status).toBe(403)
    expect((await get('/closed', token({ roles: ['admin'] }))).status).toBe(200)
    expect((await get('/closed/anybody', plain)).status).toBe(200)
    expectUnauthorized(await get('/closed/anybody'))
    expect((await get('/closed/open')).status).toBe(200)
  })

  it('Authentication 5: both decorators on one handler stop bootstrap', async () => {
    @Controller('/torn')
    class TornController {
      @Post('/') @Secured @NoAuth save(): object {
        return {}
      }
    }
    @Module({ controllers: [TornController] })
    class TornModule {}
    await expect(
      bootstrap(TornModule, { listen: false, logger: false, env }),
    ).rejects.toMatchObject({
      problems: [
        {
          code: 'ACCESS_CONTRADICTION',
          message: 'TornController.save is both @Secured and @NoAuth.',
        },
      ],
    })
  })

  it.each([
    { answer: 200, url: '/items', bearer: undefined },
    { answer: 401, url: '/items/private', bearer: undefined },
    { answer: 403, url: '/items/admin', bearer: token() },
    { answer: 404, url: '/nowhere', bearer: undefined },
  ])('Authentication 8: $answer carries the CORS headers', async ({ answer, url, bearer }) => {
    const { status, headers } = await get(url, bearer)
    expect(status).toBe(answer)
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
      'access-control-allow-headers':
        'Origin, X-Requested-With, Content-Type, Accept, Authorization',
      'access-control-expose-headers': 'FreshToken',
    })
  })

  it.each([
    { url: '/items/admin', roles: ['admin'], status: 200 },
    { url: '/items/admin', roles: ['editor'], status: 403 },
    { url: '/items/admin', roles: undefined, status: 403 },
    { url: '/items/both', roles: ['admin'], status: 403 },
    { url: '/items/both', roles: ['audit', 'admin'], status: 200 },
    { url: '/items/of/ada', roles: undefined, status: 200 },
    { url: '/items/of/bob', roles: ['admin'], status: 403 },
  ])('roles: $url with $roles is $status', async ({ url, roles, status }) => {
    const answer = await get(url, token({ roles }))
    expect(answer.status).toBe(status)
    if (status === 403) expect(answer.body).toBe('{"error":"Forbidden"}')
  })

  it('roles: the static key passes every role, and a guard decides for itself', async () => {
    expect((await get('/items/both', apiKey)).status).toBe(200)
    expect((await get('/items/of/ada', apiKey)).status).toBe(403)
  })
})

/** HEAD has no body to compare; its head must say the same. */
function withBody(answer: InjectResponse): InjectResponse {
  expect(answer.body).toBe('')
  return { ...answer, body: '{"error":"Unauthorized"}' }
}

describe('FreshToken', () => {
  it('Authentication 7: login → FreshToken → write → rotation', async () => {
    const login = await always.inject({ url: '/login', json: { password: 'lovelace' } })
    expect(login.json()).toEqual({ ok: true })
    const first = login.headers.freshtoken ?? ''
    const write = await always.inject({ url: '/items', json: { n: 1 }, token: first })
    expect(write.status).toBe(200)
    const second = write.headers.freshtoken ?? ''
    expect((await get('/items/admin', second, always)).status).toBe(200)
    expect(login.headers['access-control-expose-headers']).toContain('FreshToken')
  })

  it('Authentication 7: a failed login brings none, and its own message', async () => {
    const answer = await app.inject({ url: '/login', json: { password: 'byron' } })
    expect(answer.status).toBe(401)
    expect(answer.json()).toEqual({ error: 'Wrong name or password' })
    expect(answer.headers.freshtoken).toBeUndefined()
  })

  it('rotation: comes once the token is past half its life, with all its claims', async () => {
    const young = token({ iat: now() - 100, exp: now() + 500 })
    expect((await get('/items/private', young)).headers.freshtoken).toBeUndefined()
    const old = token({ iat: now() - 400, exp: now() + 200, roles: ['admin'], shop: 3 })
    const { freshtoken: fresh = '' } = (await get('/items/private', old)).headers
    const claims = jsonwebtoken.verify(fresh, publicPem) as jsonwebtoken.JwtPayload
    expect(claims).toMatchObject({ sub: 'ada', roles: ['admin'], shop: 3 })
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(600)
  })

  it('rotation: ends 12 h after the first sign-in', async () => {
    const old = token({ iat: now() - 12 * 3600 - 1, exp: now() + 60 })
    expect((await get('/items/private', old)).headers.freshtoken).toBeUndefined()
  })

  it('rotation: comes with error answers of secured routes too', async () => {
    const missing = await get('/items/broken', token(), always)
    expect([missing.status, missing.headers.freshtoken]).toEqual([404, expect.any(String)])
    const forbidden = await get('/items/admin', token(), always)
    expect([forbidden.status, forbidden.headers.freshtoken]).toEqual([403, expect.any(String)])
  })

  it('rotation: never answers the static key, the anonymous, or a public route', async () => {
    expect((await get('/items/private', apiKey, always)).headers.freshtoken).toBeUndefined()
    expect((await get('/items/private', undefined, always)).headers.freshtoken).toBeUndefined()
    expect((await get('/items', token(), always)).headers.freshtoken).toBeUndefined()
  })

  it('revocation: a logged-out token is refused from then on, and brings no fresh one', async () => {
    const login = await always.inject({ url: '/login', json: { password: 'lovelace' } })
    const { freshtoken: mine = '' } = login.headers
    const { freshtoken: rotated = '' } = (await get('/items/private', mine, always)).headers
    const logout = await always.inject({ method: 'POST', url: '/logout', token: rotated })
    expect([logout.status, logout.headers.freshtoken]).toEqual([200, undefined])
    expectUnauthorized(await get('/items/private', mine, always))
    expectUnauthorized(await get('/items/private', rotated, always))
  })
})

describe('formToken', () => {
  const write = (value: string): InjectRequest => ({
    url: '/items',
    json: { name: 'Lamp', formToken: value },
  })

  it('is taken out of the body and lets nobody in by default', async () => {
    expectUnauthorized(await app.inject(write(apiKey)))
    const answer = await app.inject({ ...write('anything'), token: apiKey })
    expect(answer.json()).toEqual({ body: { name: 'Lamp' } })
  })

  it('lets in where the application says so', async () => {
    const taking = await start({ auth: { formToken: true } })
    const answer = await taking.inject(write(token()))
    expect(answer.json()).toEqual({ body: { name: 'Lamp' } })
    expectUnauthorized(await taking.inject(write('wrong')))
    expectUnauthorized(await taking.inject({ url: '/items', json: {} }))
    expectUnauthorized(await taking.inject({ ...write(apiKey), headers: { authorization: 'x' } }))
    const form = await taking.inject({ url: '/items', form: { name: 'Lamp', formToken: apiKey } })
    expect(form.status).toBe(200)
    await taking.close()
  })
})

describe('keys', () => {
  it('production without keys is refused, and told how to make them', async () => {
    const production = start({ env: { NODE_ENV: 'production', APP_API_KEY: apiKey } })
    await expect(production).rejects.toThrow(
      /Production has no keys to check tokens with\. +Make a key with `openssl genpkey/,
    )
  })

  it('a malformed key is refused at bootstrap, with all other faults', async () => {
    const faulty = start({
      env: { APP_PRIVATE_KEY: 'nonsense', APP_API_KEY: 'two words' },
      auth: { rotate: 'sometimes' as never },
    })
    await expect(faulty).rejects.toMatchObject({
      problems: [
        { code: 'INVALID_OPTION' },
        { code: 'INVALID_ENVIRONMENT' },
        { code: 'AUTH_KEYS' },
      ],
    })
  })
})
