/** Applications that share a host, and tokens that a browser still sends late. Source: decisions, CORS and cookies. */
import { describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Clock,
  Controller,
  DeclarationError,
  Get,
  Module,
  NoAuth,
  Post,
  reply,
  Secured,
  type Application,
  type BootstrapOptions,
  type Claims,
  type Session,
} from 'filigree'
import { TestClock } from 'filigree/testing'
import { makePair } from '../auth/key-pair.js'
import { Visitor } from '../modules/oidc/visitor.js'

@Controller('/')
class Accounts {
  static inject = [Auth]
  constructor(private readonly auth: Auth) {}

  @Post('/login') @NoAuth async login(): Promise<unknown> {
    return reply({}).freshToken(await this.auth.getToken({ sub: 'ada' }))
  }
  @Post('/logout') async logout(user: Claims): Promise<object> {
    await this.auth.revoke(user.jti ?? '')
    return {}
  }
  @Get('/me') @Secured me(user: Claims): unknown {
    return user.sub
  }
  @Get('/open') open(user: Claims | null): object {
    return { sub: user?.sub ?? null }
  }
  @Post('/notes') note(user: Claims): unknown {
    return user.sub
  }
  @Post('/visit') @NoAuth visit(session: Session): void {
    session.visits = Number(session.visits ?? 0) + 1
  }
  @Post('/enter') @NoAuth enter(session: Session): void {
    session.user = 'ada'
    session.regenerate()
  }
  @Get('/session') readSession(session: Session): object {
    return { ...session }
  }
}

@Module({ controllers: [Accounts] })
class AppModule {}

const pairs = { own: makePair(), other: makePair() }
const envOf = (pair = pairs.own): NodeJS.ProcessEnv => ({ APP_PRIVATE_KEY: pair.privatePem })

function start(options: BootstrapOptions = {}): Promise<Application> {
  return bootstrap(AppModule, {
    ...{
      listen: false,
      logger: false,
      env: envOf(),
      auth: { cookie: true },
      times: { linger: 20 },
    },
    ...options,
  })
}

const listening: BootstrapOptions = { listen: true, port: 0, host: '127.0.0.1' }
const production = { ...envOf(), NODE_ENV: 'production' }

describe('two applications on one host', () => {
  it('on two ports keep their sign-ins and sessions in one browser', async () => {
    await using first = await start({ ...listening, env: envOf() })
    await using second = await start({ ...listening, env: envOf(pairs.other) })
    const browser = new Visitor(first.url)
    const page = { 'sec-fetch-site': 'same-origin' }
    for (const { url } of [first, second]) {
      await browser.post(`${url}/login`, page)
      await browser.post(`${url}/visit`, page)
    }
    const { port } = new URL(first.url)
    expect(browser.cookies.has(`app_token_${port}`)).toBe(true)
    expect(browser.cookies.has(`app_session_${port}`)).toBe(true)
    expect(browser.cookies.size).toBe(4)
    await browser.post(`${second.url}/logout`, page)
    expect((await browser.get(`${second.url}/me`)).status).toBe(401)
    expect((await browser.get(`${first.url}/me`)).status).toBe(200)
    expect(await (await browser.get(`${first.url}/session`)).json()).toEqual({ visits: 1 })
  })

  it.each<[string, string, BootstrapOptions]>([
    ['', '', { publicUrl: 'https://a.example' }],
    ['.desk', '', { publicUrl: 'https://a.example/desk/' }],
    ['.desk.v%2E2', '', { publicUrl: 'https://a.example/desk/v.2' }],
    ['.desk.api', '/api', { publicUrl: 'https://a.example/desk', basePath: '/api' }],
    ['_8443', '', { publicUrl: 'https://a.example:8443' }],
    ['.api', '/api', { basePath: '/api' }],
  ])('in production have the suffix %j', async (suffix, basePath, options) => {
    await using app = await start({ ...options, env: production })
    const setCookies = []
    for (const path of ['/login', '/visit'])
      setCookies.push(
        (await app.inject({ method: 'POST', url: basePath + path })).headers['set-cookie'],
      )
    const prefix = options.publicUrl === undefined ? '' : '__Host-'
    expect(setCookies.map((cookie) => cookie?.split('=')[0])).toEqual([
      `${prefix}app_token${suffix}`,
      `app_session${suffix}`,
    ])
  })
})

describe('the options of the names', () => {
  it('replace the defaults', async () => {
    await using app = await start({
      ...listening,
      auth: { cookie: { name: 'desk_token' } },
      sessions: { cookie: 'desk_session' },
      docs: { title: 'T', version: '1' },
    })
    const browser = new Visitor(app.url)
    await browser.post('/login')
    await browser.post('/visit')
    expect([...browser.cookies.keys()]).toEqual(['desk_token', 'desk_session'])
    expect((await browser.get('/me')).status).toBe(200)
    expect(await (await browser.get('/session')).json()).toEqual({ visits: 1 })
    const document = await (await browser.get('/swagger/openapi.json')).text()
    expect(document).toContain('"name":"__Host-desk_token"')
  })

  it.each<[string, BootstrapOptions, string]>([
    ['a blank', { auth: { cookie: { name: 'a b' } } }, 'bootstrap auth.cookie: name is "a b".'],
    ['a prefix', { auth: { cookie: { name: '__Host-a' } } }, 'has a prefix'],
    ['an unknown option', { auth: { cookie: { nme: 'a' } as never } }, 'Did you mean "name"'],
    ['text for an object', { auth: { cookie: 'a' as never } }, 'bootstrap auth: cookie is "a".'],
    [
      'a session with a blank',
      { sessions: { cookie: 'a;b' } },
      'bootstrap sessions: cookie is "a;b".',
    ],
    [
      'one name twice',
      { auth: { cookie: { name: 'a' } }, sessions: { cookie: 'a' } },
      "is also the name of the token's cookie",
    ],
  ])('refuse %s at the start', async (_, options, message) => {
    const failure: unknown = await start(options).then(
      (app) => app.close(),
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(DeclarationError)
    expect((failure as DeclarationError).message).toContain(message)
  })
})

describe('a cookie whose token this application cannot read', () => {
  it.each<[string, (other: Application) => Promise<string> | string]>([
    ['another key', (other) => other.get(Auth).getToken({ sub: 'eve' })],
    ['nonsense', () => 'nonsense'],
  ])('is ignored and not deleted: %s', async (_, create) => {
    await using other = await start({ env: envOf(pairs.other) })
    await using app = await start({ auth: { cookie: true, formToken: true } })
    const headers = { cookie: `app_token=${await create(other)}`, 'sec-fetch-site': 'same-origin' }
    const secured = await app.inject({ url: '/me', headers })
    expect([secured.status, secured.headers['set-cookie']]).toEqual([401, undefined])
    const open = await app.inject({ url: '/open', headers })
    expect([open.status, open.json(), open.headers['set-cookie']]).toEqual([
      ...[200, { sub: null }, undefined],
    ])
    const form = { formToken: await app.get(Auth).getToken({ sub: 'ada' }) }
    const written = await app.inject({ url: '/notes', form, headers })
    expect([written.status, written.body]).toEqual([200, 'ada'])
    const out = await app.inject({ method: 'POST', url: '/logout', headers })
    expect([out.status, out.headers['set-cookie']]).toEqual([401, undefined])
  })

  it.each(['issuer', 'audience'])('is ignored if its %s differs', async (option) => {
    const text = (name: string) => ({ issuer: 'same', audience: 'same', [option]: name })
    await using other = await start({ auth: { cookie: true, ...text('other') } })
    await using app = await start({ auth: { cookie: true, ...text('own') } })
    const cookie = `app_token=${await other.get(Auth).getToken({ sub: 'eve' })}`
    const { status, headers } = await app.inject({ url: '/me', headers: { cookie } })
    expect([status, headers['set-cookie']]).toEqual([401, undefined])
    expect((await app.inject({ url: '/open', headers: { cookie } })).json()).toEqual({ sub: null })
  })
})

describe('a late request', () => {
  it.each<[string, BootstrapOptions['auth']]>([
    ['after the grace period', { rotation: { grace: '30s' } }],
    ['after the grace period that ends the sign-in', { rotation: { grace: '30s', reuse: 'end' } }],
    ['with an expired token', {}],
  ])('%s does not delete the cookie of the successor', async (_, auth) => {
    const clock = new TestClock()
    await using app = await start({
      auth: { cookie: true, ...auth },
      override: [[Clock, clock]],
    })
    const token = await app.get(Auth).getToken({ sub: 'ada' }, { expiresIn: '10m' })
    const headers = { cookie: `app_token=${token}` }
    await clock.advance('6m')
    expect((await app.inject({ url: '/me', headers })).headers['set-cookie']).toContain('=ey')
    await clock.advance(auth?.rotation === undefined ? '10m' : '31s')
    for (const url of ['/me', '/open', '/me']) {
      const late = await app.inject({ url, headers })
      expect([late.status, late.headers['set-cookie']]).toEqual([401, undefined])
    }
  })

  it('with a revoked token deletes the cookie, because its successors are revoked too', async () => {
    await using app = await start()
    const auth = app.get(Auth)
    for (const end of [() => auth.revoke('one'), () => auth.revokeAll('ada')]) {
      const token = await auth.getToken({ sub: 'ada', jti: 'one' })
      await end()
      const headers = { cookie: `app_token=${token}` }
      const { status, headers: sent } = await app.inject({ url: '/me', headers })
      expect([status, sent['set-cookie']]).toEqual([401, expect.stringContaining('Max-Age=0')])
    }
  })

  it('with the id of a session before its regeneration sets no cookie and changes nothing', async () => {
    await using app = await start()
    const visit = (cookie: string, url: string) =>
      app.inject({ method: 'POST', url, headers: { cookie } })
    const pairOf = (line = '') => line.split(';')[0] ?? ''
    const before = pairOf((await visit('', '/visit')).headers['set-cookie'])
    const after = pairOf((await visit(before, '/enter')).headers['set-cookie'])
    expect(after).toMatch(/^app_session=/)
    expect((await visit(before, '/visit')).headers['set-cookie']).toBeUndefined()
    const read = async (cookie: string) =>
      (await app.inject({ url: '/session', headers: { cookie } })).json()
    expect([await read(before), await read(after)]).toEqual([{}, { visits: 1, user: 'ada' }])
  })
})
