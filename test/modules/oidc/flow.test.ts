/** Source: decisions, Sign-in. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Clock,
  Controller,
  Database,
  DeclarationError,
  Field,
  Get,
  Module,
  Record as RecordOf,
  Secured,
  type Application,
  type BootstrapOptions,
  type Claims,
} from 'filigree'
import { oidc, type OidcOptions, type SignIn } from 'filigree/oidc'
import { TestClock } from 'filigree/testing'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startBothEngines } from '../../records/both-engines.js'
import { LyingProvider } from './fake-provider.js'
import { Visitor } from './visitor.js'

let provider: LyingProvider
const engines = await startBothEngines()

@RecordOf
class Account {
  @Field('id') id!: number
  @Field('string') subject!: string
}

class Users {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  async fromGoogle({ subject }: SignIn): Promise<Claims> {
    const account = await this.database.records(Account).create({ subject })
    if (subject === 'rolls-back') throw new Error('not this one')
    return { sub: String(account.id) }
  }
}

@Controller('/me')
class MeController {
  @Get('/')
  @Secured
  me(user: Claims): unknown {
    return user.sub
  }
}

function moduleWith(options: Partial<OidcOptions> = {}): abstract new () => object {
  const { issuer } = provider
  const common = {
    name: 'google',
    issuer,
    clientId: 'desk',
    signIn: [Users, 'fromGoogle'] as const,
  }
  @Module({
    imports: [oidc({ ...common, ...options })],
    providers: [Users],
    records: [Account],
    controllers: [MeController],
  })
  class AppModule {}
  return AppModule
}

function start(
  options: BootstrapOptions = {},
  more: Partial<OidcOptions> = {},
): Promise<Application> {
  const defaults = {
    port: 0,
    host: '127.0.0.1',
    times: { linger: 20 },
    env: {},
    database: 'sqlite::memory:',
    logger: false,
  }
  return bootstrap(moduleWith(more), { ...defaults, ...options })
}

async function problemsOf(options: BootstrapOptions, more = {}): Promise<unknown> {
  const failure: unknown = await start(options, more).then(
    (app) => app.close(),
    (error: unknown) => error,
  )
  return failure instanceof DeclarationError ? failure.problems : failure
}

beforeAll(async () => {
  provider = await LyingProvider.start()
})

afterAll(() => provider.close())

/** Times of an ID token by our test clock. */
function timesOf(clock: Clock): object {
  const now = Math.floor(clock.now() / 1000)
  return { iat: now, exp: now + 60 }
}

describe('without cookies for tokens', () => {
  let app: Application
  beforeAll(async () => {
    app = await start({ basePath: '/api' }, { tokenKey: 'desk"><b>' })
  })
  afterAll(() => app.close())

  it('a page passes the token to the store of the client, and to no other page', async () => {
    const browser = new Visitor(app.url)
    const page = await browser.goTo('/api/signin/google?to=/me')
    expect(provider.read(page).redirect).toBe(
      `http://localhost:${new URL(app.url).port}/api/signin/google/callback`,
    )
    const back = await browser.get(`/api/signin/google/callback${provider.allow(page)}`)
    const text = await back.text()
    const token = back.headers.get('freshtoken') ?? ''
    expect(back.status).toBe(200)
    expect(text).toContain(`data-token="${token}"`)
    expect(text).toContain('data-key="desk&quot;&gt;&lt;b&gt;"')
    expect(text).toContain(`data-to="http://localhost:${new URL(app.url).port}/api/me"`)
    expect(back.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    )
    expect(back.headers.get('cache-control')).toContain('no-store')
    expect(back.headers.get('referrer-policy')).toBe('no-referrer')
    expect(browser.cookies.size).toBe(0)
    const authorization = `Bearer ${token}`
    expect((await browser.get('/api/me', { authorization })).status).toBe(200)
  })

  it('a public client sends no secret, and PKCE protects it', () => {
    const { authorization, body } = provider.exchanges.at(-1) ?? {}
    expect(authorization).toBe('')
    expect(body?.get('client_id')).toBe('desk')
    expect(body?.get('code_verifier')).toMatch(/^.{43}$/)
  })

  it('the writes of the method are rolled back when it throws', async () => {
    const browser = new Visitor(app.url)
    const page = await browser.goTo('/api/signin/google')
    const back = await browser.get(
      `/api/signin/google/callback${provider.allow(page, 'rolls-back')}`,
    )
    expect(back.status).toBe(500)
    const accounts = await app.get(Database).records(Account).list({})
    expect(accounts.map(({ subject }) => subject)).not.toContain('rolls-back')
  })
})

describe('behind a proxy that strips a path prefix', () => {
  it('all addresses have the prefix', async () => {
    const path = {
      publicUrl: 'https://example.com/desk',
      auth: { cookie: { name: 'app_token' } },
      listen: false,
    }
    const app = await start(path)
    const started = await app.inject('/signin/google?to=/me')
    const page = started.headers.location ?? ''
    expect(provider.read(page).redirect).toBe('https://example.com/desk/signin/google/callback')
    const cookie = (started.headers['set-cookie'] ?? '').split(';')[0] ?? ''
    const url = `/signin/google/callback${provider.allow(page)}`
    const back = await app.inject({ url, headers: { cookie } })
    expect([back.status, back.headers.location]).toEqual([302, 'https://example.com/desk/me'])
    await app.close()
  })
})

describe('the sign-in transaction', () => {
  it('is in a __Host- cookie where browsers use https, whatever Host is', async () => {
    const app = await start({ listen: false, publicUrl: 'https://desk.example', trustProxy: 1 })
    const lies = { host: 'evil.example', 'x-forwarded-host': 'evil', 'x-forwarded-proto': 'http' }
    const response = await app.inject({ url: '/signin/google?to=/me', headers: lies })
    expect(response.headers['set-cookie']).toMatch(
      /^__Host-app_signin_(?:\d+_)?.{31}=[\w-]+; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    )
    const { redirect } = provider.read(response.headers.location ?? '')
    expect(redirect).toBe('https://desk.example/signin/google/callback')
    await app.close()
  })

  it('expires after ten minutes, and cannot be forged, changed or renamed', async () => {
    const clock = new TestClock()
    const app = await start({ override: [[Clock, clock]] })
    const browser = new Visitor(app.url)
    const page = await browser.goTo('/signin/google')
    await clock.advance('10m')
    expect((await browser.get(`/signin/google/callback${provider.allow(page)}`)).status).toBe(400)
    browser.cookies.clear()
    const first = await browser.goTo('/signin/google')
    const [[name = '', value = ''] = []] = browser.cookies
    const second = await browser.goTo('/signin/google')
    const other = [...browser.cookies.keys()].find((one) => one !== name) ?? ''
    const changed = Buffer.from(value, 'base64url')
    changed[40] = (changed[40] ?? 0) ^ 1
    for (const forged of [value, changed.toString('base64url'), 'e30', '', value.slice(0, 20)]) {
      browser.cookies.set(other, forged)
      const back = await browser.get(`/signin/google/callback${provider.allow(second)}`)
      expect(back.status).toBe(400)
    }
    provider.lies = { claims: timesOf(clock) }
    expect((await browser.get(`/signin/google/callback${provider.allow(first)}`)).status).toBe(200)
    provider.reset()
    await app.close()
  })

  it.each(engines)(
    'works once across all processes that share the database, on %s',
    async (_name, open) => {
      // Two processes share a file, because memory cannot be shared.
      const folder = mkdtempSync(join(tmpdir(), 'filigree-oidc-'))
      const url = (await open()).replace(':memory:', join(folder, 'a.db'))
      const shared = { database: url, publicUrl: 'http://localhost:1' }
      const apps = [await start(shared), await start(shared)]
      const browser = new Visitor(apps[0]?.url ?? '')
      const page = await browser.goTo('/signin/google')
      const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const path = `/signin/google/callback${provider.allow(page)}`
      const race = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          new Visitor(apps[index % 2]?.url ?? '').get(path, { cookie }),
        ),
      )
      expect(race.filter(({ status }) => status === 200)).toHaveLength(1)
      expect(race.filter(({ status }) => status === 400)).toHaveLength(49)
      const accounts = await apps[0]?.get(Database).records(Account).list({})
      expect(accounts).toHaveLength(1)
      // The writes for a sign-in that threw are rolled back.
      const next = await browser.goTo('/signin/google')
      const thrown = `/signin/google/callback${provider.allow(next, 'rolls-back')}`
      expect((await browser.get(thrown)).status).toBe(500)
      expect(await apps[1]?.get(Database).records(Account).count({})).toBe(1)
      await Promise.all(apps.map((app) => app.close()))
      rmSync(folder, { recursive: true })
    },
  )

  it('works once without a database too', async () => {
    class Plain {
      fromGoogle(): Claims {
        return { sub: '7' }
      }
    }
    const options = { name: 'google', issuer: provider.issuer, clientId: 'desk' }
    @Module({ imports: [oidc({ ...options, signIn: [Plain, 'fromGoogle'] })], providers: [Plain] })
    class PlainModule {}
    const app = await bootstrap(PlainModule, { port: 0, host: '127.0.0.1', env: {}, logger: false })
    const browser = new Visitor(app.url)
    const page = await browser.goTo('/signin/google')
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const path = `/signin/google/callback${provider.allow(page)}`
    const race = await Promise.all(
      Array.from({ length: 20 }, () => new Visitor(app.url).get(path, { cookie })),
    )
    expect(race.filter(({ status }) => status === 200)).toHaveLength(1)
    await app.close()
  })
})

describe('the metadata of the provider', () => {
  const signIn = async (app: Application): Promise<number> => {
    const browser = new Visitor(app.url)
    const page = await browser.goTo('/signin/google')
    return (await browser.get(`/signin/google/callback${provider.allow(page)}`)).status
  }
  const discovery = '/.well-known/openid-configuration'

  it('is cached as long as its headers allow', async () => {
    const clock = new TestClock()
    const app = await start({ override: [[Clock, clock]] })
    provider.cacheControl = 'public, max-age=1800'
    const before = { ...provider.requestCounts }
    const newRequests = (path: string): number =>
      (provider.requestCounts[path] ?? 0) - (before[path] ?? 0)
    expect(await signIn(app)).toBe(200)
    await clock.advance('29m')
    provider.lies = {
      claims: { iat: Math.floor(clock.now() / 1000), exp: Math.floor(clock.now() / 1000) + 60 },
    }
    expect(await signIn(app)).toBe(200)
    expect([newRequests(discovery), newRequests('/jwks')]).toEqual([1, 1])
    await clock.advance('2m')
    provider.lies = {
      claims: { iat: Math.floor(clock.now() / 1000), exp: Math.floor(clock.now() / 1000) + 60 },
    }
    expect(await signIn(app)).toBe(200)
    expect([newRequests(discovery), newRequests('/jwks')]).toEqual([2, 2])
    provider.reset()
    await app.close()
  })

  it('has its keys fetched again for an unknown kid, at most once a minute', async () => {
    const clock = new TestClock()
    const app = await start({ override: [[Clock, clock]] })
    const say = (): void => {
      provider.lies = { claims: timesOf(clock) }
    }
    const count = (): number => provider.requestCounts['/jwks'] ?? 0
    say()
    expect(await signIn(app)).toBe(200)
    const before = count()
    provider.rotate('next')
    await clock.advance('50s')
    say()
    expect(await signIn(app)).toBe(401)
    expect(count()).toBe(before)
    await clock.advance('11s')
    say()
    expect(await signIn(app)).toBe(200)
    expect(count()).toBe(before + 1)
    provider.reset()
    await app.close()
  })

  it('is not needed for a start: an unavailable provider stops nothing', async () => {
    const app = await start({}, { issuer: 'http://127.0.0.1:1' })
    const response = await fetch(new URL('/signin/google', app.url), { redirect: 'manual' })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '10'])
    await app.close()
  })
})

describe('HEAD', () => {
  it('neither starts nor finishes a sign-in, and does not change the current one', async () => {
    const app = await start({ auth: { cookie: { name: 'app_token' } } })
    const browser = new Visitor(app.url)
    const started = await browser.head('/signin/google')
    expect([started.status, started.headers.get('allow'), browser.cookies.size]).toEqual([
      405,
      'GET',
      0,
    ])
    const page = await browser.goTo('/signin/google')
    const back = `/signin/google/callback${provider.allow(page)}`
    const looked = await browser.head(back)
    expect([looked.status, looked.headers.get('allow')]).toEqual([405, 'GET'])
    expect(browser.cookies.has('app_token')).toBe(false)
    expect((await browser.get(back)).status).toBe(302)
    expect(browser.cookies.has('app_token')).toBe(true)
    await app.close()
  })
})

describe('signing out', () => {
  it('ends the token, by cookie only from our own pages, and leads to the provider', async () => {
    const app = await start({ auth: { cookie: { name: 'app_token' } } })
    const browser = new Visitor(app.url)
    const page = await browser.goTo('/signin/google')
    await browser.get(`/signin/google/callback${provider.allow(page)}`)
    const token = browser.cookies.get('app_token') ?? ''
    const form = { origin: app.url }
    const homePage = `http://localhost:${new URL(app.url).port}`
    const foreignPages: Record<string, string>[] = [
      {},
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site', origin: new URL(app.url).origin },
    ]
    for (const foreign of foreignPages)
      expect((await browser.post('/signout', foreign)).status).toBe(403)
    expect((await browser.get('/me')).status).toBe(200)
    expect((await browser.get('/signout')).status).toBe(405)
    const out = await browser.post('/signout', form)
    const address = new URL(out.headers.get('location') ?? '')
    expect([out.status, address.origin + address.pathname]).toEqual([303, `${provider.issuer}/end`])
    expect(Object.fromEntries(address.searchParams)).toEqual({
      client_id: 'desk',
      post_logout_redirect_uri: `${homePage}/`,
    })
    expect(browser.cookies.size).toBe(0)
    const authorization = `Bearer ${token}`
    expect((await fetch(new URL('/me', app.url), { headers: { authorization } })).status).toBe(401)
    await app.close()
  })

  it('clears the cookie of an ended token, and does nothing for other tokens and for pages of other sites', async () => {
    const clock = new TestClock()
    const app = await start({ auth: { cookie: { name: 'app_token' } }, override: [[Clock, clock]] })
    const auth = app.get(Auth)
    const form = { origin: new URL(app.url).origin }
    const revoked = await auth.getToken({ sub: '7', jti: 'ended elsewhere' })
    await auth.revoke('ended elsewhere')
    const lasting = await auth.getToken({ sub: '7' }, { expiresIn: '2h' })
    const brief = await auth.getToken({ sub: '7', idp: 'google' }, { expiresIn: '5m' })
    await clock.advance('10m')
    const ended = [brief, revoked]
    const foreign = [`${lasting}x`, 'eyJhbGciOiJub25lIn0.e30.', 'nonsense', '%00']
    for (const token of [...ended, ...foreign]) {
      const browser = new Visitor(app.url)
      browser.cookies.set('app_token', token)
      const other = await browser.post('/signout', { 'sec-fetch-site': 'cross-site' })
      expect([token, other.status, browser.cookies.size]).toEqual([token, 403, 1])
      const out = await browser.post('/signout', form)
      expect([out.status, out.headers.get('location')]).toEqual([303, '/'])
      // A token that this application cannot read may be of another one on this host.
      expect([token, browser.cookies.size]).toEqual([token, ended.includes(token) ? 0 : 1])
      expect(out.headers.get('www-authenticate')).toBeNull()
    }
    const nobody = new Visitor(app.url)
    const out = await nobody.post('/signout', { accept: 'application/json' })
    expect([out.status, await out.json(), out.headers.get('set-cookie')]).toEqual([
      ...[200, { to: '/' }, null],
    ])
    expect((await nobody.post('/signout', { 'sec-fetch-site': 'cross-site' })).status).toBe(401)
    const authorization = `Bearer ${brief}`
    const script = await nobody.post('/signout', { authorization, 'sec-fetch-dest': 'empty' })
    expect([script.status, await script.json()]).toEqual([200, { to: '/' }])
    await app.close()
  })

  it('tells a script the next address', async () => {
    const app = await start({})
    const browser = new Visitor(app.url)
    const page = await browser.goTo('/signin/google')
    const back = await browser.get(`/signin/google/callback${provider.allow(page)}`)
    const authorization = `Bearer ${back.headers.get('freshtoken') ?? ''}`
    const out = await browser.post('/signout', { authorization, accept: 'application/json' })
    expect([out.status, await out.json()]).toMatchObject([
      200,
      { to: expect.stringContaining(`${provider.issuer}/end?`) },
    ])
    expect(out.headers.get('freshtoken')).toBeNull()
    expect((await browser.get('/me', { authorization })).status).toBe(401)
    const next = await browser.goTo('/signin/google')
    const signedIn = await browser.get(`/signin/google/callback${provider.allow(next)}`)
    const headers = { authorization: `Bearer ${signedIn.headers.get('freshtoken') ?? ''}` }
    // A form on a page with `form-action 'self'` could not be redirected there.
    const form = await browser.post('/signout', { ...headers, 'sec-fetch-dest': 'document' })
    expect([form.status, await form.text()]).toEqual([
      200,
      expect.stringContaining(`data-to="${provider.issuer}/end?post_logout_redirect_uri=`),
    ])
    expect((await browser.get('/me', { authorization })).status).toBe(401)
    await app.close()
  })
})

describe('configuration problems', () => {
  it.each<[string, object]>([
    ['name', { name: 'Google Mail' }],
    ['issuer', { issuer: 'http://id.example' }],
    ['issuer', { issuer: 'https://id.example/?a' }],
    ['clientId', { clientId: '' }],
    ['scope', { scope: 'email' }],
    ['link', { link: 'email' }],
    ['parameters', { parameters: { state: 'x' } }],
    ['responseMode', { responseMode: 'fragment' }],
    ['signIn', { signIn: Users }],
  ])('an unusable %s is refused at the start', async (option, odd) => {
    expect(await problemsOf({}, odd)).toMatchObject([
      { code: 'INVALID_OPTION', message: expect.stringContaining(`${option} cannot be used`) },
    ])
  })

  it('response_mode among the parameters is refused with the option that sets it', async () => {
    expect(await problemsOf({}, { parameters: { response_mode: 'form_post' } })).toMatchObject([
      { remedy: expect.stringContaining('use the option responseMode') },
    ])
  })

  it('a missing method is refused at the start', async () => {
    for (const method of ['fromGogle', 'constructor', 'toString'])
      expect(await problemsOf({}, { signIn: [Users, method] })).toMatchObject([
        { message: `oidc google: signIn names Users.${method}, which is not a method.` },
      ])
  })

  it('production requires a public address, and tokens a key', async () => {
    const production = { env: { NODE_ENV: 'production' }, auth: { keys: false } as const }
    expect(await problemsOf(production)).toMatchObject([
      { code: 'PUBLIC_URL_MISSING' },
      { code: 'AUTH_KEYS' },
    ])
    expect(await problemsOf({ auth: { keys: false } })).toMatchObject([{ code: 'AUTH_KEYS' }])
  })

  it('two providers with the same name are refused at the start', async () => {
    const common = {
      issuer: provider.issuer,
      clientId: 'desk',
      signIn: [Users, 'fromGoogle'] as const,
    }
    @Module({
      imports: [oidc({ ...common, name: 'google' }), oidc({ ...common, name: 'google' })],
      providers: [Users],
      records: [Account],
    })
    class TwiceModule {}
    await expect(bootstrap(TwiceModule, { listen: false, logger: false, env: {} })).rejects.toThrow(
      /GET \/signin\/google/,
    )
  })
})
