/** `auth: { cookie: true }`. Source: decisions, CORS and cookies. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Controller,
  Get,
  GraphQL,
  Module,
  NoAuth,
  Post,
  reply,
  Secured,
  type Application,
  type Claims,
  type HttpRequest,
} from 'filigree'
import { exchange, statusOf } from '../bootstrap/raw-client.js'
import { apiKey, env, now, startProtectedApplication, token } from './gated-application.js'

const graphql = new GraphQL()
graphql.schema.addQuery('me', {
  type: 'String',
  resolve: (_root, _args, context) => (context as { user: Claims | null }).user?.sub ?? null,
})
graphql.schema.addMutation('sign', {
  type: 'String',
  resolve: (_root, _args, context) => (context as { user: Claims | null }).user?.sub ?? null,
})
graphql.registerRoute('/graphql')

@Controller('/')
class Accounts {
  static inject = [Auth]
  constructor(private readonly auth: Auth) {}

  @Post('/login') @NoAuth async login(): Promise<unknown> {
    return reply({}).freshToken(await this.auth.getToken({ sub: 'ada' }))
  }
  @Post('/link') @NoAuth async link(): Promise<unknown> {
    const token = await this.auth.getToken({ sub: 'ada' })
    return reply({}).freshToken(token, { crossSite: true })
  }
  @Post('/logout') async logout(user: Claims): Promise<object> {
    await this.auth.revoke(user.jti ?? '')
    return {}
  }
  @Get('/me') @Secured me(user: Claims | null, request: HttpRequest): object {
    return { sub: user?.sub ?? null, by: request.auth?.by }
  }
  @Post('/notes') note(body: unknown, user: Claims): object {
    return { body, sub: user.sub }
  }
  @Post('/hook') @NoAuth hook(request: HttpRequest): object {
    return { user: request.user }
  }
}

@Module({ controllers: [Accounts], graphql: [graphql] })
class AppModule {}

let app: Application
const origin = 'https://shop.example'

beforeAll(async () => {
  app = await bootstrap(AppModule, { listen: false, logger: false, env, auth: { cookie: true } })
})
afterAll(() => app.close())

interface RequestParts {
  readonly method?: string
  readonly base?: string
  readonly headers?: Record<string, string>
  readonly json?: unknown
}

function send(path: string, { method = 'GET', base = origin, headers, json }: RequestParts = {}) {
  const body = json === undefined ? {} : { body: JSON.stringify(json) }
  const type: Record<string, string> =
    json === undefined ? {} : { 'content-type': 'application/json' }
  return app.handle(new Request(base + path, { method, headers: { ...type, ...headers }, ...body }))
}

const secure = (value: string): string => `__Host-app_token=${value}`
const page = { 'sec-fetch-site': 'same-origin' }
const old = (): string => token({ iat: now() - 590, exp: now() + 10, jti: 'old' })

describe('the cookie of a sign-in', () => {
  it('is HttpOnly, Lax, only for this host and, over https, Secure', async () => {
    const { headers } = await send('/login', { method: 'POST' })
    const token = headers.get('freshtoken') ?? ''
    expect(headers.get('set-cookie')).toMatch(
      /^__Host-app_token=[\w.-]+; Max-Age=3\d{3}; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    )
    expect(headers.get('set-cookie')).toContain(`=${token};`)
    expect(headers.get('cache-control')).toBe('private, no-store')
  })

  it('has no prefix and no Secure over http', async () => {
    const { headers } = await send('/login', { method: 'POST', base: 'http://shop.example' })
    expect(headers.get('set-cookie')).toMatch(
      /^app_token=[\w.-]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/,
    )
  })

  it('is off by default', async () => {
    await using plain = await startProtectedApplication()
    const { headers } = await plain.inject({ url: '/login', json: { password: 'lovelace' } })
    expect(headers['set-cookie']).toBeUndefined()
    const cookie = `app_token=${token()}`
    const answer = await plain.inject({ url: '/items/private', headers: { cookie } })
    expect(answer.status).toBe(401)
    expect(answer.headers['set-cookie']).toBeUndefined()
  })
})

describe('a read by cookie', () => {
  it('is accepted, and its response is private and varies by cookie', async () => {
    const answer = await send('/me', { headers: { cookie: secure(token()) } })
    expect(await answer.json()).toEqual({ sub: 'ada', by: 'token' })
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
    expect(answer.headers.get('vary')).toBe('Authorization, Cookie')
  })

  it('is accepted from links of other sites', async () => {
    const headers = { cookie: secure(token()), 'sec-fetch-site': 'cross-site' }
    expect((await send('/me', { headers })).status).toBe(200)
  })

  it.each([
    { cookie: 'the name without prefix over https', text: () => `app_token=${token()}` },
    {
      cookie: 'two that differ',
      text: () => `${secure(token())}; ${secure(token({ sub: 'eve' }))}`,
    },
    { cookie: 'the static key', text: () => secure(apiKey) },
    { cookie: 'nonsense', text: () => secure('nonsense') },
    { cookie: 'an empty one', text: () => secure('') },
    {
      cookie: 'a no-break space before the prefix',
      text: () => `\u00a0${secure(token())}`,
    },
    { cookie: 'the prefix in another case', text: () => secure(token()).replace('H', 'h') },
    { cookie: 'another name with the same end', text: () => `x${secure(token())}` },
  ])('is 401 with $cookie', async ({ text }) => {
    expect((await send('/me', { headers: { cookie: text() } })).status).toBe(401)
  })

  it('ignores the name with prefix over http', async () => {
    const headers = { cookie: secure(token()) }
    expect((await send('/me', { base: 'http://shop.example', headers })).status).toBe(401)
  })

  it('is 401 if the token has expired. The browser deletes the cookie by itself', async () => {
    const expired = token({ exp: now() - 60 })
    const { headers, status } = await send('/me', { headers: { cookie: secure(expired) } })
    expect([status, headers.get('set-cookie')]).toEqual([401, null])
  })

  it('ignores the cookie if there is an Authorization header', async () => {
    const headers = { cookie: secure(token()), authorization: 'Bearer nonsense' }
    const answer = await send('/me', { headers })
    expect(answer.status).toBe(401)
    expect(answer.headers.get('set-cookie')).toBeNull()
    const other = { cookie: secure(token()), authorization: `Bearer ${token({ sub: 'bob' })}` }
    expect(await (await send('/me', { headers: other })).json()).toMatchObject({ sub: 'bob' })
  })
})

describe('rotation', () => {
  it('sends the next token in the cookie if the token came in the cookie', async () => {
    const { headers } = await send('/me', { headers: { cookie: secure(old()) } })
    expect(headers.get('freshtoken')).toBeNull()
    const fresh = /^__Host-app_token=([\w.-]+);/.exec(headers.get('set-cookie') ?? '')?.[1]
    expect((await send('/me', { headers: { cookie: secure(fresh ?? '') } })).status).toBe(200)
  })

  it('sends the next token in FreshToken if the token came in the header', async () => {
    const headers = { cookie: secure(token()), authorization: `Bearer ${old()}` }
    const answer = await send('/me', { headers })
    expect(answer.headers.get('freshtoken')).toEqual(expect.any(String))
    expect(answer.headers.get('set-cookie')).toBeNull()
  })
})

describe('rotation and pages of other sites', () => {
  const write = (headers: Record<string, string>) =>
    send('/notes', { method: 'POST', json: {}, headers })

  it('a write from another site gets no next token and clears no cookie', async () => {
    for (const cookie of [secure(old()), secure(token({ exp: now() - 60 })), secure('nonsense')]) {
      const { status, headers } = await write({ cookie, 'sec-fetch-site': 'cross-site' })
      expect([status, headers.get('set-cookie'), headers.get('freshtoken')]).toEqual([
        403,
        null,
        null,
      ])
    }
  })

  it('a write from the own site gets the next token only in the cookie', async () => {
    const { status, headers } = await write({ ...page, cookie: secure(old()) })
    expect([status, headers.get('freshtoken')]).toEqual([200, null])
    expect(headers.get('set-cookie')).toMatch(/^__Host-app_token=ey/)
  })

  it('two cookies, one of them planted, are 401 and neither is cleared', async () => {
    const cookie = `${secure(token())}; ${secure(token({ sub: 'eve' }))}`
    const { status, headers } = await write({ ...page, cookie })
    expect([status, headers.get('set-cookie')]).toEqual([401, null])
  })

  it('requests that run during a sign-out get no valid token', async () => {
    const cookie = secure(token({ iat: now() - 590, exp: now() + 10, jti: 'leaves' }))
    const [reads, out] = await Promise.all([
      Promise.all([1, 2, 3].map(() => send('/me', { headers: { cookie } }))),
      send('/logout', { method: 'POST', headers: { ...page, cookie } }),
    ])
    expect(out.headers.get('set-cookie')).toContain('Max-Age=0')
    for (const { headers } of reads) {
      const [next = ''] = (headers.get('set-cookie') ?? '').split(';')
      expect((await send('/me', { headers: { cookie: next } })).status).toBe(401)
    }
  })
})

describe('a write by cookie', () => {
  const write = (headers: Record<string, string>, cookie = secure(token())) =>
    send('/notes', { method: 'POST', json: { n: 1 }, headers: { ...headers, cookie } })

  it.each([
    { from: 'a page of the same origin', headers: page },
    { from: 'the same Origin without Sec-Fetch-Site', headers: { origin } },
    {
      from: 'a page of the same origin with any Origin header',
      headers: { ...page, origin: 'https://x.example' },
    },
  ])('is accepted from $from', async ({ headers }) => {
    expect(await (await write(headers)).json()).toEqual({ body: { n: 1 }, sub: 'ada' })
  })

  const foreign: Record<string, string>[] = [
    {},
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin },
    { 'sec-fetch-site': 'none', origin },
    { 'sec-fetch-site': 'same-origin, cross-site' },
    { 'sec-fetch-site': '' },
    { origin: 'null' },
    { origin: 'http://shop.example' },
    { origin: 'https://shop.example:8443' },
    { origin: 'https://shop.example.evil.example' },
    { origin: 'https://shop.example/' },
    { referer: 'https://shop.example/page' },
  ]
  it.each(foreign)('is 403 with %j', async (headers) => {
    const answer = await write(headers)
    expect(answer.status).toBe(403)
    expect(await answer.json()).toEqual({ error: 'Forbidden', code: 'FORBIDDEN' })
  })

  it('is refused before its body is read', async () => {
    await using listening = await startProtectedApplication({
      listen: true,
      port: 0,
      host: '127.0.0.1',
      auth: { cookie: true },
    })
    const answer = await exchange(
      listening.url,
      `POST /items HTTP/1.1\r\nHost: x\r\nCookie: app_token_${new URL(listening.url).port}=${token()}\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n{`,
      (text) => text.includes('}'),
    )
    expect(statusOf(answer)).toBe(403)
  })

  it('is not checked with an Authorization header or on a public route', async () => {
    const headers = { authorization: `Bearer ${token()}`, cookie: secure(token()) }
    expect((await send('/notes', { method: 'POST', json: {}, headers })).status).toBe(200)
    const hook = await send('/hook', { method: 'POST', headers: { cookie: secure(token()) } })
    expect(await hook.json()).toEqual({ user: null })
  })

  it('that revokes its token clears the cookie', async () => {
    const cookie = secure(token({ jti: 'signed-out' }))
    const answer = await send('/logout', { method: 'POST', headers: { ...page, cookie } })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('set-cookie')).toMatch(/^__Host-app_token=; Max-Age=0;/)
    expect((await send('/me', { headers: { cookie } })).status).toBe(401)
  })

  it('is accepted behind a proxy that ends TLS', async () => {
    await using proxied = await startProtectedApplication({
      trustProxy: true,
      auth: { cookie: true },
    })
    const headers = {
      host: 'shop.example',
      origin,
      'x-forwarded-proto': 'https',
      cookie: secure(token()),
    }
    expect((await proxied.inject({ url: '/items', json: {}, headers })).status).toBe(200)
  })
})

describe('GraphQL by cookie', () => {
  const post = (query: string, headers: Record<string, string>) =>
    send('/graphql', { method: 'POST', json: { query }, headers })

  it('reads by GET, and by POST from a page of the same origin', async () => {
    const headers = { cookie: secure(token()) }
    expect(await (await send('/graphql?query={me}', { headers })).json()).toEqual({
      data: { me: 'ada' },
    })
    expect(await (await post('{ me }', { ...headers, ...page })).json()).toEqual({
      data: { me: 'ada' },
    })
  })

  it('writes only from a page of the same origin', async () => {
    const headers = { cookie: secure(token()) }
    const good = await post('mutation { sign }', { ...headers, ...page })
    expect(await good.json()).toEqual({ data: { sign: 'ada' } })
    expect((await post('mutation { sign }', headers)).status).toBe(403)
    const foreign = { ...headers, 'sec-fetch-site': 'same-site' }
    expect((await post('mutation { sign }', foreign)).status).toBe(403)
  })
})

describe('with formToken', () => {
  it('a write with both is checked like one with the cookie', async () => {
    await using combined = await startProtectedApplication({
      auth: { cookie: true, formToken: true },
    })
    const form = { formToken: token({ sub: 'bob' }) }
    const send = (headers: Record<string, string>) =>
      combined.inject({ url: '/items', form, headers })
    const cookie = `app_token=${token()}`
    expect((await send({ cookie })).status).toBe(403)
    expect((await send({ cookie, ...page })).status).toBe(200)
    expect((await send({})).status).toBe(200)
  })
})

describe('cookie sign-in behind a proxy that is not configured', () => {
  it('uses the public URL: Secure, only for this host, and writes only from its pages', async () => {
    const more = { publicUrl: 'https://desk.example', listen: false, logger: false, env: {} }
    await using desk = await bootstrap(AppModule, { ...more, auth: { cookie: true } })
    const login = await desk.inject({ method: 'POST', url: '/login' })
    const cookie = login.headers['set-cookie'] ?? ''
    expect(cookie).toMatch(/^__Host-app_token=[\w.-]+; Max-Age=3\d{3}; Path=\/; HttpOnly; Secure;/)
    const [pair = ''] = cookie.split(';')
    const status = async (headers: object, method = 'GET', url = '/me'): Promise<number> =>
      (await desk.inject({ method, url, headers: { ...headers } })).status
    expect(await status({ cookie: pair })).toBe(200)
    // A cookie without the prefix could be set by another host of the same domain.
    expect(await status({ cookie: pair.replace('__Host-', '') })).toBe(401)
    const origins = ['https://desk.example', 'https://evil.example', 'null']
    const statuses = origins.map((origin) => status({ cookie: pair, origin }, 'POST', '/logout'))
    expect((await Promise.all(statuses)).sort()).toEqual([200, 403, 403])
  })
})

describe('a sign-in from another site', () => {
  const shop = 'https://shop.example'
  const signIn = (
    at: Application,
    headers: Record<string, string>,
    url = '/login',
  ): Promise<unknown> =>
    at
      .inject({ method: 'POST', url, headers: { ...headers, host: 'desk.example' } })
      .then(({ status, headers: { 'set-cookie': cookie } }) => [status, cookie !== undefined])

  it.each<Record<string, string>>([
    {},
    { 'sec-fetch-site': 'same-origin', origin: 'http://desk.example' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'same-site', origin: 'http://www.desk.example' },
    { origin: 'http://desk.example' },
  ])('is not detected with %j', async (headers) => {
    expect(await signIn(app, headers)).toEqual([200, true])
  })

  it('is accepted if the reply allows it', async () => {
    expect(await signIn(app, { 'sec-fetch-site': 'cross-site' }, '/link')).toEqual([200, true])
  })

  it('is accepted from an origin that CORS allows with credentials', async () => {
    const options = { listen: false, logger: false, env, auth: { cookie: true } } as const
    const origins = [shop]
    for (const [credentials, result] of [
      [true, [200, true]],
      [false, [403, false]],
    ] as const) {
      await using listed = await bootstrap(AppModule, {
        ...options,
        cors: { origins, credentials },
      })
      const crossSite = { 'sec-fetch-site': 'cross-site' }
      expect(await signIn(listed, { ...crossSite, origin: shop })).toEqual(result)
      expect(await signIn(listed, { ...crossSite, origin: 'https://evil.example' })).toEqual([
        403,
        false,
      ])
      const { headers } = await listed.inject({ url: '/me', headers: { origin: shop } })
      expect(headers['access-control-allow-credentials']).toBe(credentials ? 'true' : undefined)
    }
  })

  it('is accepted if tokens are not sent in cookies', async () => {
    const options = { listen: false, logger: false, env } as const
    await using plain = await bootstrap(AppModule, options)
    expect(await signIn(plain, { 'sec-fetch-site': 'cross-site' })).toEqual([200, false])
  })

  it('names the reason in the debug log', async () => {
    const lines: unknown[] = []
    const debug = (about: object): void => void lines.push(about)
    const silent = (): void => undefined
    const logger = { debug, info: silent, warn: silent, error: silent }
    const options = { listen: false, logger, env, auth: { cookie: true } }
    await using logging = await bootstrap(AppModule, options)
    await signIn(logging, { 'sec-fetch-site': 'cross-site' })
    expect(lines).toContainEqual(
      expect.objectContaining({
        status: 403,
        reason: 'a page of another site sent a request that would set the cookie of a token',
      }),
    )
  })
})
