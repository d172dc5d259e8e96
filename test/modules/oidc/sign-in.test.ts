/** Source: decisions, Sign-in. Over real HTTP, with a provider that can send wrong responses. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  ApplicationState,
  bootstrap,
  Controller,
  Database,
  Get,
  HttpError,
  Module,
  Secured,
  type Application,
  type Claims,
} from 'filigree'
import { oidc, type SignIn } from 'filigree/oidc'
import { LyingProvider } from './fake-provider.js'
import { Visitor } from './visitor.js'

let one: LyingProvider
let two: LyingProvider
let three: LyingProvider
let app: Application
const lines: string[] = []
let signInMethod: (signIn: SignIn) => unknown = () => ({ sub: '7' })
const signIns: SignIn[] = []

class Users {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  async fromOne(signIn: SignIn): Promise<unknown> {
    signIns.push(signIn)
    // A throw must roll back the writes, so a transaction is required.
    if (this.database.openTransaction() === undefined) throw new Error('no transaction')
    return signInMethod(signIn)
  }
}

@Controller('/me')
class MeController {
  @Get('/')
  @Secured
  me(user: Claims): unknown {
    return { sub: user.sub, idp: user.idp }
  }
}

const log = (level: string) => (details: unknown, text?: string) =>
  void lines.push(
    `${level} ${JSON.stringify(details, (_, value: unknown) => (value instanceof Error ? { message: value.message, stack: value.stack, cause: value.cause } : value))} ${text ?? ''}`,
  )
const logger = {
  error: log('error'),
  warn: log('warn'),
  info: log('info'),
  debug: log('debug'),
}

beforeAll(async () => {
  ;[one, two, three] = await Promise.all([
    LyingProvider.start(),
    LyingProvider.start(),
    LyingProvider.start(),
  ])
  const common = { clientId: 'desk', clientSecret: 'secret', signIn: [Users, 'fromOne'] as const }
  @Module({
    imports: [
      oidc({ ...common, name: 'one', issuer: one.issuer, link: 'verified-email' }),
      oidc({
        ...common,
        name: 'two',
        issuer: two.issuer,
        userInfo: true,
        maxAge: '5m',
        responseMode: 'form_post',
      }),
      oidc({
        ...common,
        ...{ name: 'three', issuer: three.issuer, userInfo: true, link: 'verified-email' as const },
      }),
    ],
    providers: [Users],
    controllers: [MeController],
  })
  class AppModule {}
  app = await bootstrap(AppModule, {
    ...{ port: 0, host: '127.0.0.1', env: {}, database: 'sqlite::memory:' },
    logger: logger as never,
    auth: { cookie: { name: 'app_token' } },
  })
})

afterAll(async () => {
  await app.close()
  await Promise.all([one.close(), two.close(), three.close()])
})

beforeEach(async () => {
  // Clears the cached metadata of the providers.
  await app.get(ApplicationState).reset()
  one.reset()
  two.reset()
  three.reset()
  signInMethod = () => ({ sub: '7' })
  signIns.length = 0
})

function visitor(): Visitor {
  return new Visitor(app.url)
}

/** Goes to the provider, which consents, and returns to the callback. */
async function signIn(browser = visitor(), { to = '/me', back = '' } = {}): Promise<Response> {
  const page = await browser.goTo(`/signin/one?to=${encodeURIComponent(to)}`)
  return browser.get(`/signin/one/callback${back === '' ? one.allow(page) : back}`)
}

describe('signing in at a provider', () => {
  it('redirects with PKCE, state and nonce, and returns with a token in the cookie', async () => {
    const browser = visitor()
    const page = await browser.goTo('/signin/one?to=/me')
    const query = Object.fromEntries(new URL(page).searchParams)
    expect(page.startsWith(`${one.issuer}/authorize?`)).toBe(true)
    expect(query).toMatchObject({
      client_id: 'desk',
      response_type: 'code',
      scope: 'openid',
      code_challenge_method: 'S256',
      redirect_uri: `${new URL(app.url).protocol}//localhost:${new URL(app.url).port}/signin/one/callback`,
    })
    expect(query.state).toMatch(/^.{31}$/)
    expect(query.nonce).toMatch(/^.{22}$/)
    const back = await browser.get(`/signin/one/callback${one.allow(page)}`)
    expect([back.status, back.headers.get('location')]).toEqual([302, '/me'])
    expect(back.headers.get('cache-control')).toContain('no-store')
    expect(back.headers.get('referrer-policy')).toBe('no-referrer')
    expect([...browser.cookies.keys()]).toEqual(['app_token'])
    expect(await (await browser.get('/me')).json()).toEqual({ sub: '7', idp: 'one' })
    expect(signIns).toMatchObject([
      { provider: 'one', issuer: one.issuer, subject: '7', link: null },
    ])
    expect(one.exchanges.at(-1)?.authorization).toMatch(/^Basic /)
  })

  it('sets the cookie for ten minutes, for this host only, hidden from scripts', async () => {
    const start = await visitor().get('/signin/one')
    expect(start.headers.get('set-cookie')).toMatch(
      /^app_signin_\d+_.{31}=[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
    )
  })

  it.each([
    ['another issuer', { claims: { iss: 'http://127.0.0.1:1' } }],
    ['another addressee', { claims: { aud: 'shop' } }],
    ['several addressees without us as the party', { claims: { aud: ['desk', 'x'], azp: 'x' } }],
    ['another nonce', { claims: { nonce: 'other' } }],
    ['no nonce', { claims: { nonce: undefined } }],
    ['no subject', { claims: { sub: undefined } }],
    ['an empty subject', { claims: { sub: '' } }],
    ['a time of issue in the future', { claims: { iat: Math.floor(Date.now() / 1000) + 600 } }],
    ['a past end', { claims: { exp: Math.floor(Date.now() / 1000) - 40 } }],
    ['no end', { claims: { exp: undefined } }],
    ['a beginning in the future', { claims: { nbf: Math.floor(Date.now() / 1000) + 60 } }],
    [
      'alg none',
      { header: { alg: 'none' }, metadata: { id_token_signing_alg_values_supported: ['none'] } },
    ],
    [
      'alg HS256',
      { header: { alg: 'HS256' }, metadata: { id_token_signing_alg_values_supported: ['HS256'] } },
    ],
    ['a foreign key', { foreignKey: true }],
    ['an unknown kid', { header: { kid: 'nobody' } }],
    ['no ID token', { idToken: '' }],
    ['an ID token that is none', { idToken: 'nonsense' }],
    ['critical parts', { header: { crit: ['x'], x: 1 } }],
  ])('refuses an ID token with %s', async (_what, lies) => {
    one.lies = lies
    const browser = visitor()
    const back = await signIn(browser)
    expect([back.status, browser.cookies.size, signIns.length]).toEqual([401, 0, 0])
    expect(await back.json()).toMatchObject({ error: 'Signing in did not succeed.' })
  })

  it('accepts a clock difference of half a minute', async () => {
    const now = Math.floor(Date.now() / 1000)
    one.lies = { claims: { exp: now - 20, iat: now + 20 } }
    expect((await signIn()).status).toBe(302)
  })

  it('accepts a code and a transaction once, also fifty concurrently and with a copied cookie', async () => {
    const browser = visitor()
    const page = await browser.goTo('/signin/one?to=/me')
    const path = `/signin/one/callback${one.allow(page)}`
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const race = await Promise.all(
      Array.from({ length: 50 }, () => visitor().get(path, { cookie })),
    )
    const statuses = race.map(({ status }) => status)
    expect(statuses.filter((status) => status === 302)).toHaveLength(1)
    expect(statuses.filter((status) => status === 400)).toHaveLength(49)
    expect(signIns).toHaveLength(1)
    const query = one.allow(page)
    expect((await visitor().get(`/signin/one/callback${query}`, { cookie })).status).toBe(400)
  })

  it('counts a failed callback as used', async () => {
    const browser = visitor()
    const page = await browser.goTo('/signin/one?to=/me')
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const query = new URLSearchParams(one.allow(page))
    query.set('code', 'guess')
    expect((await visitor().get(`/signin/one/callback?${query}`, { cookie })).status).toBe(401)
    const path = `/signin/one/callback${one.allow(page)}`
    expect((await visitor().get(path, { cookie })).status).toBe(400)
  })

  it.each([
    ['without a cookie', (query: URLSearchParams) => query, false],
    [
      'with another state',
      (query: URLSearchParams) => (query.set('state', 'x'.repeat(31)), query),
      true,
    ],
    ['with a state twice', (query: URLSearchParams) => (query.append('state', 'x'), query), true],
    ['without a state', (query: URLSearchParams) => (query.delete('state'), query), true],
    [
      'with __proto__ as its state',
      (query: URLSearchParams) => (query.set('state', '__proto__'), query),
      true,
    ],
    [
      'with a huge state',
      (query: URLSearchParams) => (query.set('state', 'x'.repeat(6000)), query),
      true,
    ],
  ])('refuses a callback %s', async (_what, change, sends) => {
    const browser = visitor()
    const page = await browser.goTo('/signin/one?to=/me')
    const query = change(new URLSearchParams(one.allow(page)))
    const back = await (sends ? browser : visitor()).get(`/signin/one/callback?${query}`)
    expect([back.status, signIns.length]).toEqual([400, 0])
  })

  it.each([
    [
      'with another issuer',
      (query: URLSearchParams) => (query.set('iss', 'http://127.0.0.1:1'), query),
    ],
    ['without one', (query: URLSearchParams) => (query.delete('iss'), query)],
    ['with two codes', (query: URLSearchParams) => (query.append('code', 'x'), query)],
    ['without a code', (query: URLSearchParams) => (query.delete('code'), query)],
    [
      'with an additional ID token',
      (query: URLSearchParams) => (query.set('id_token', 'x'), query),
    ],
  ])('refuses a callback %s', async (_what, change) => {
    const browser = visitor()
    const page = await browser.goTo('/signin/one?to=/me')
    const query = change(new URLSearchParams(one.allow(page)))
    const back = await browser.get(`/signin/one/callback?${query}`)
    expect([back.status, signIns.length]).toEqual([401, 0])
  })

  it('accepts no response of one provider for that from another', async () => {
    const browser = visitor()
    const page = await browser.goTo('/signin/one?to=/me')
    expect((await browser.get(`/signin/two/callback${one.allow(page)}`)).status).toBe(400)
    // Provider two names the page of provider one, and its own address would receive the code.
    two.lies = { metadata: { authorization_endpoint: `${one.issuer}/authorize` } }
    const other = await browser.goTo('/signin/two?to=/me')
    const query = new URLSearchParams(one.allow(other))
    expect((await browser.get(`/signin/two/callback?${query}`)).status).toBe(401)
    expect(signIns).toHaveLength(0)
  })

  it('supports ten sign-ins side by side, and drops the oldest of more', async () => {
    const browser = visitor()
    const pages: string[] = []
    for (let tab = 0; tab < 10; tab++)
      pages.push(await browser.goTo(`/signin/one?to=/me%3Ftab=${tab}`))
    for (const [tab, page] of pages.slice(1).entries()) {
      const back = await browser.get(`/signin/one/callback${one.allow(page)}`)
      expect([back.status, back.headers.get('location')]).toEqual([302, `/me?tab=${tab + 1}`])
    }
    const more: string[] = []
    for (let tab = 0; tab < 12; tab++) more.push(await browser.goTo('/signin/one'))
    expect(
      [...browser.cookies.keys()].filter((name) => name.startsWith('app_signin')),
    ).toHaveLength(10)
    expect((await browser.get(`/signin/one/callback${one.allow(more[0] ?? '')}`)).status).toBe(400)
    expect((await browser.get(`/signin/one/callback${one.allow(more[11] ?? '')}`)).status).toBe(302)
  })

  it.each([
    ['/me?a=1&b=2#x', '/me?a=1&b=2#x'],
    ['/caf%C3%A9', '/caf%C3%A9'],
    ...[
      '//evil.example',
      '/\\evil.example',
      '/%5cevil.example',
      '/%5Cevil',
      '/%2fevil',
      '/%09/evil',
    ].map((to) => [to, '/'] as const),
    ...[
      'https:evil.example',
      'https://evil.example',
      'javascript:alert(1)',
      'evil',
      '',
      ' /me',
    ].map((to) => [to, '/'] as const),
    ...[
      '/a/../..//x',
      '/.//evil',
      '/a/..//evil.example',
      '/\t/evil',
      '/a\r\nSet-Cookie: a=b',
      '/a\0b',
    ].map((to) => [to, '/'] as const),
    ...['/%255cevil', '/\u2028x', '/@evil.example'].map(
      (to) => [to, to === '/@evil.example' ? to : '/'] as const,
    ),
    [`/${'a'.repeat(2000)}`, '/'],
  ])('redirects to %j as %j', async (to, where) => {
    const back = await signIn(visitor(), { to })
    expect([back.status, back.headers.get('location')]).toEqual([302, where])
  })

  it('redirects to / where `to` appears twice', async () => {
    const browser = visitor()
    const page = await browser.goTo('/signin/one?to=/me&to=/other')
    const back = await browser.get(`/signin/one/callback${one.allow(page)}`)
    expect(back.headers.get('location')).toBe('/')
  })

  it('redirects with error=access_denied where the user refused', async () => {
    const browser = visitor()
    const { state } = one.read(await browser.goTo('/signin/one?to=/me%3Fa=1'))
    const query = new URLSearchParams({ error: 'access_denied', state, iss: one.issuer })
    const back = await browser.get(`/signin/one/callback?${query}`)
    expect([back.status, back.headers.get('location')]).toEqual([
      302,
      '/me?a=1&error=access_denied',
    ])
    expect(browser.cookies.size).toBe(0)
    // The same callback again is refused.
    expect((await browser.get(`/signin/one/callback?${query}`)).status).toBe(400)
  })

  it.each([
    ['login_required', 401],
    ['temporarily_unavailable', 503],
    ['<script>alert(1)</script>', 401],
  ])('shows nothing that the provider writes in addition to %s', async (error, status) => {
    const browser = visitor()
    const { state } = one.read(await browser.goTo('/signin/one'))
    const description = '"><img src=x onerror=alert(1)>'
    const query = new URLSearchParams({
      error,
      error_description: description,
      error_uri: 'http://evil',
      state,
      iss: one.issuer,
    })
    const back = await browser.get(`/signin/one/callback?${query}`, { accept: 'text/html' })
    const text = await back.text()
    expect(back.status).toBe(status)
    expect(back.headers.get('content-type')).toContain('text/html')
    expect(back.headers.get('content-security-policy')).toContain("default-src 'none'")
    for (const part of ['alert', 'onerror', 'evil', error]) expect(text).not.toContain(part)
    expect(lines.join('\n')).not.toContain('alert(1)')
  })
})

describe('maxAge', () => {
  it('makes the provider authenticate again, and requires its confirmation', async () => {
    const browser = visitor()
    const page = await browser.goTo('/signin/two')
    expect(new URL(page).searchParams.get('max_age')).toBe('300')
    const now = Math.floor(Date.now() / 1000)
    for (const [auth_time, status] of [
      [now - 290, 302],
      [now - 340, 401],
      [undefined, 401],
      ['now', 401],
    ]) {
      two.lies = { claims: { auth_time } }
      const next = await browser.goTo('/signin/two')
      expect((await browser.get(`/signin/two/callback${two.allow(next)}`)).status).toBe(status)
    }
  })
})

describe('attacks', () => {
  it('a page that starts sign-ins with long paths cannot fill the cookies of a browser', async () => {
    const browser = visitor()
    for (let tab = 0; tab < 12; tab++) await browser.goTo(`/signin/one?to=/${'a'.repeat(1020)}`)
    const header = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    expect(header.length).toBeLessThan(8192)
    expect((await browser.get('/me')).status).toBe(401)
    const page = await browser.goTo('/signin/one?to=/me')
    expect((await browser.get(`/signin/one/callback${one.allow(page)}`)).status).toBe(302)
  })

  it('a code of another sign-in is refused, with any state', async () => {
    const [victim, attacker] = [visitor(), visitor()]
    const stolen = new URLSearchParams(one.allow(await victim.goTo('/signin/one'), 'victim'))
    const mixed = new URLSearchParams(one.allow(await attacker.goTo('/signin/one'), 'attacker'))
    mixed.set('code', stolen.get('code') ?? '')
    expect((await attacker.get(`/signin/one/callback?${mixed.toString()}`)).status).toBe(401)
    expect((await attacker.get(`/signin/one/callback?${stolen.toString()}`)).status).toBe(400)
    expect(signIns).toHaveLength(0)
  })

  it.each([
    ['iss twice', 'iss', 'http://127.0.0.1:1'],
    ['error twice', 'error', 'access_denied'],
    ['a response of its own', 'response', 'x'],
  ])('a response with %s is refused', async (_what, name, value) => {
    const browser = visitor()
    const query = new URLSearchParams(one.allow(await browser.goTo('/signin/one')))
    query.append(name, value)
    if (name === 'error') query.append(name, value)
    expect((await browser.get(`/signin/one/callback?${query.toString()}`)).status).toBe(401)
  })

  it('a provider cannot lead to an address that is not a page', async () => {
    for (const endpoint of ['javascript:alert(1)//', 'data:text/html,x', 'http:']) {
      await app.get(ApplicationState).reset()
      one.lies = { metadata: { authorization_endpoint: endpoint } }
      expect((await visitor().get('/signin/one')).status).toBe(503)
    }
    one.lies = { metadata: { end_session_endpoint: 'javascript:alert(1)//' } }
    await app.get(ApplicationState).reset()
    const browser = visitor()
    await signIn(browser)
    const out = await browser.post('/signout', { origin: app.url, accept: 'application/json' })
    expect(await out.json()).toEqual({ to: '/' })
  })

  it('an e-mail is linked only where the verifying provider named it', async () => {
    const links: unknown[] = []
    signInMethod = ({ link }) => {
      links.push(link)
      return { sub: '7' }
    }
    // The UserInfo of the other address is verified, but this one is not.
    three.lies = { claims: { email: 'evil@example.com' } }
    const browser = visitor()
    const back = async (sub: string): Promise<number> =>
      (
        await browser.get(
          `/signin/three/callback${three.allow(await browser.goTo('/signin/three'), sub)}`,
        )
      ).status
    expect(await back('7')).toBe(302)
    three.reset()
    expect(await back('7')).toBe(302)
    expect(links).toEqual([null, 'ada@example.com'])
    // UserInfo of another subject is not used.
    expect(await back('8')).toBe(401)
  })
})

describe("the application's sign-in method", () => {
  it.each<[string, () => unknown, number]>([
    ['null', () => null, 403],
    ['an HttpError', () => Promise.reject(new HttpError(409, 'Twice <b>.')), 409],
    ['nothing', () => undefined, 500],
    ['a text', () => '7', 500],
    ['a list', () => ['7'], 500],
    ['no subject', () => ({}), 500],
    ['a number as subject', () => ({ sub: 7 }), 500],
    [
      'an error',
      () => {
        throw new Error('no')
      },
      500,
    ],
  ])('%s returns its status', async (_what, give, status) => {
    signInMethod = give
    const browser = visitor()
    const back = await signIn(browser)
    expect([back.status, browser.cookies.size]).toEqual([status, 0])
    const page = await browser.goTo('/signin/one')
    const response = await browser.get(`/signin/one/callback${one.allow(page)}`, {
      accept: 'text/html',
    })
    expect(response.status).toBe(status)
    if (status < 500) expect(await response.text()).not.toContain('<b>')
  })

  it('receives the e-mail for linking only where it was verified and the option allows it', async () => {
    const email = 'Ada@Example.com'
    const links: unknown[] = []
    signInMethod = ({ link }) => (links.push(link), { sub: '7' })
    for (const email_verified of [true, false, 'true', 1, undefined]) {
      one.lies = { claims: { email, email_verified } }
      await signIn()
    }
    expect(links).toEqual(['ada@example.com', null, 'ada@example.com', null, null])
    const browser = visitor()
    two.lies = { claims: { auth_time: Math.floor(Date.now() / 1000) } }
    await browser.get(`/signin/two/callback${two.allow(await browser.goTo('/signin/two'))}`)
    expect(signIns.at(-1)).toMatchObject({ link: null, claims: { email, email_verified: true } })
  })

  it('receives email_verified as a boolean, also from providers that send text', async () => {
    for (const email_verified of ['true', 'false']) {
      one.lies = { claims: { email: 'ada@example.com', email_verified } }
      await signIn()
    }
    const flags = signIns.map(({ claims }) => claims.email_verified)
    expect(flags).toEqual([true, false])
  })
})

describe('a provider that posts its response', () => {
  /** The fields of the form in a page. */
  const fieldsOf = (page: string): URLSearchParams => {
    const inputs = page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)
    return new URLSearchParams([...inputs].map(([, name = '', value = '']) => [name, value]))
  }
  const callback = '/signin/one/callback'

  it('signs the user in, although browsers leave out the cookie of the sign-in', async () => {
    const browser = visitor()
    const page = await browser.goTo('/signin/one?to=/me')
    const fields = new URLSearchParams(one.allow(page))
    fields.set('user', '{"name":"<b>Ada"}')
    const first = await browser.submit(callback, fields, 'cross-site')
    expect([first.status, first.headers.get('cache-control')]).toEqual([200, 'no-store'])
    const policy = first.headers.get('content-security-policy')
    expect(policy).toContain("form-action 'self'")
    const html = await first.text()
    expect(html).toContain(`action="http://localhost:${new URL(app.url).port}${callback}"`)
    expect(html).not.toContain('Ada')
    const back = await browser.submit(callback, fieldsOf(html), 'same-origin')
    expect([back.status, back.headers.get('location')]).toEqual([303, '/me'])
    expect(await (await browser.get('/me')).json()).toEqual({ sub: '7', idp: 'one' })
  })

  it('signs the user in immediately if the browser sends the cookie', async () => {
    const browser = visitor()
    const fields = new URLSearchParams(one.allow(await browser.goTo('/signin/one')))
    const back = await browser.submit(callback, fields, 'same-origin')
    expect([back.status, back.headers.get('location')]).toEqual([303, '/'])
  })

  it('returns to the page if the user declined', async () => {
    const browser = visitor()
    const { state } = one.read(await browser.goTo('/signin/one?to=/me'))
    const fields = new URLSearchParams({ error: 'access_denied', state, iss: one.issuer })
    const back = await browser.submit(callback, fields, 'same-origin')
    expect([back.status, back.headers.get('location')]).toEqual([303, '/me?error=access_denied'])
  })

  it('gets 400 once the form was sent again without the cookie, and the page contains no markup', async () => {
    const fields = new URLSearchParams({ state: '"><script>', code: 'x', iss: one.issuer })
    const page = await (await visitor().submit(callback, fields, 'cross-site')).text()
    expect(page).not.toContain('"><script>')
    const again = fieldsOf(page)
    expect(again.get('resent')).toBe('1')
    expect((await visitor().submit(callback, again, 'same-origin')).status).toBe(400)
  })

  it('cannot be imitated by a page of another site: the browser gets no token', async () => {
    const attacker = visitor()
    const fields = new URLSearchParams(one.allow(await attacker.goTo('/signin/one'), 'attacker'))
    const victim = visitor()
    const page = await (await victim.submit(callback, fields, 'cross-site')).text()
    const back = await victim.submit(callback, fieldsOf(page), 'same-origin')
    expect([back.status, victim.cookies.size]).toEqual([400, 0])
  })

  it('is refused with another body than a form of 16 KiB', async () => {
    const long = new URLSearchParams({ code: 'x'.repeat(17_000) })
    expect((await visitor().submit(callback, long, 'cross-site')).status).toBe(413)
    const json = { 'content-type': 'application/json' }
    expect((await visitor().post(callback, json)).status).toBe(415)
  })

  it('is asked for it by responseMode', async () => {
    const modes = []
    for (const name of ['one', 'two'])
      modes.push(new URL(await visitor().goTo(`/signin/${name}`)).searchParams.get('response_mode'))
    expect(modes).toEqual([null, 'form_post'])
  })
})

describe('an unavailable provider', () => {
  const down = (response: { destroy(): void }): void => {
    response.destroy()
  }

  it.each([
    ['discovery', { discovery: down }],
    ['discovery with 500', { discovery: (response) => void response.writeHead(500).end() }],
    [
      'discovery that redirects',
      {
        discovery: (response) =>
          void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      },
    ],
    ['discovery of another', { metadata: { issuer: 'http://127.0.0.1:1' } }],
    [
      'discovery that is not JSON',
      {
        discovery: (response) =>
          void response.writeHead(200, { 'content-type': 'application/json' }).end('<'),
      },
    ],
    [
      'discovery without end',
      {
        discovery: (response) => {
          response.writeHead(200, { 'content-type': 'application/json' })
          const more = (): void => {
            if (!response.destroyed) response.write('x'.repeat(65_536), () => setImmediate(more))
          }
          more()
        },
      },
    ],
    ['a token endpoint that is down', { token: down }],
    ['a token endpoint with 503', { token: (response) => void response.writeHead(503).end() }],
    ['keys that are away', { keys: down }],
  ] satisfies [string, LyingProvider['lies']][])(
    '%s is 503 with Retry-After',
    async (_what, lies) => {
      const browser = visitor()
      const page =
        'discovery' in lies || 'metadata' in lies ? undefined : await browser.goTo('/signin/one')
      one.lies = lies
      const back = await (page === undefined
        ? browser.get('/signin/one')
        : browser.get(`/signin/one/callback${one.allow(page)}`))
      expect([back.status, back.headers.get('retry-after')]).toEqual([503, '10'])
      expect(signIns).toHaveLength(0)
    },
  )
})

it('keeps codes, tokens and secrets out of the log', async () => {
  const browser = visitor()
  await signIn(browser)
  await signIn(visitor(), { back: '?code=code-secret-code&state=nobody' })
  const all = lines.join('\n')
  expect(all).toContain('debug')
  const [token] = [...browser.cookies.values()]
  const isHeld = [
    ...one.exchanges.flatMap(({ body }) =>
      [...body.values()].filter(
        (text) => text.length > 15 && !text.startsWith('http') && text !== 'authorization_code',
      ),
    ),
    token ?? '',
    'code-secret-code',
  ].filter((text) => all.includes(text))
  expect(isHeld).toEqual([])
})
