/** Attacks on the sign-ins of other users. Source: decisions, Sign-in; RFC 9700 §4. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  ApplicationState,
  Auth,
  bootstrap,
  Controller,
  Database,
  Get,
  Module,
  Secured,
  type Application,
  type Claims,
} from 'filigree'
import { oidc, type SignIn } from 'filigree/oidc'
import { makePair } from '../../auth/key-pair.js'
import { exchange } from '../../bootstrap/raw-client.js'
import { LyingProvider } from './fake-provider.js'
import { Visitor } from './visitor.js'

let provider: LyingProvider
let app: Application
const signIns: SignIn[] = []

class Users {
  static readonly inject = [Database]
  fromProvider(signIn: SignIn): Claims {
    signIns.push(signIn)
    return { sub: signIn.subject }
  }
}

@Controller('/me')
class MeController {
  @Get('/') @Secured me(user: Claims): unknown {
    return user.sub
  }
}

function start(more: object = {}): Promise<Application> {
  const { issuer } = provider
  const common = { issuer, clientSecret: 'secret', signIn: [Users, 'fromProvider'] as const }
  @Module({
    // Two clients of one provider.
    imports: [
      oidc({ ...common, name: 'one', clientId: 'desk' }),
      oidc({ ...common, name: 'two', clientId: 'shop' }),
    ],
    providers: [Users],
    controllers: [MeController],
  })
  class AppModule {}
  return bootstrap(AppModule, {
    ...{ port: 0, host: '127.0.0.1', env: {}, database: 'sqlite::memory:', logger: false },
    auth: { cookie: { name: 'app_token' } },
    ...more,
  })
}

beforeAll(async () => {
  provider = await LyingProvider.start()
  app = await start()
})
afterAll(async () => {
  await app.close()
  await provider.close()
})
beforeEach(async () => {
  await app.get(ApplicationState).reset()
  provider.reset()
  signIns.length = 0
})

const visitor = (): Visitor => new Visitor(app.url)
const callback = '/signin/one/callback'
async function signIn(browser: Visitor, sub: string, to = '/me'): Promise<Response> {
  const page = await browser.goTo(`/signin/one?to=${encodeURIComponent(to)}`)
  return browser.get(`${callback}${provider.allow(page, sub)}`)
}
const whoIs = async (token: string): Promise<unknown> => {
  const headers = { authorization: `Bearer ${token}` }
  return (await fetch(`${app.url}/me`, { headers })).text()
}

describe('a caller who is already signed in', () => {
  it('becomes another user by another sign-in, and neither token becomes the other', async () => {
    const browser = visitor()
    await signIn(browser, 'ada')
    const first = browser.cookies.get('app_token') ?? ''
    await signIn(browser, 'eve')
    const second = browser.cookies.get('app_token') ?? ''
    expect([await whoIs(first), await whoIs(second)]).toEqual(['ada', 'eve'])
    const auth = app.get(Auth)
    const ids = async (sub: string) => (await auth.signIns(sub)).map(({ id }) => id)
    expect(await ids('ada')).toEqual([(await auth.verify(first))?.jti])
    expect(await ids('eve')).toEqual([(await auth.verify(second))?.jti])
    // The method does not receive the signed-in user, so it cannot link an account.
    expect(Object.keys(signIns[1] ?? {}).sort()).toEqual(
      ['claims', 'issuer', 'link', 'provider', 'subject'].sort(),
    )
  })

  it('is not changed by a page that leads to the callback of its own sign-in', async () => {
    const victim = visitor()
    await signIn(victim, 'ada')
    const before = victim.cookies.get('app_token')
    const attacker = visitor()
    const attackerQuery = provider.allow(await attacker.goTo('/signin/one'), 'eve')
    const state = new URLSearchParams(attackerQuery).get('state') ?? ''
    // The same with a sign-in of the victim in progress.
    const theirs = await victim.goTo('/signin/one')
    for (const query of [attackerQuery, `${attackerQuery}&state=${provider.read(theirs).state}`]) {
      const response = await victim.get(`${callback}${query}`)
      expect([response.status, response.headers.getSetCookie()]).toEqual([400, []])
    }
    // The code of one sign-in with the state of the other.
    const mixed = attackerQuery.replace(state, provider.read(theirs).state)
    expect((await victim.get(`${callback}${mixed}`)).status).toBe(401)
    expect(victim.cookies.get('app_token')).toBe(before)
    expect(signIns.map(({ subject }) => subject)).toEqual(['ada'])
  })

  it('gets a new token in place of a planted one', async () => {
    const planted = await app.get(Auth).getToken({ sub: 'eve' })
    const victim = visitor()
    victim.cookies.set('app_token', planted)
    await signIn(victim, 'ada')
    expect(await whoIs(victim.cookies.get('app_token') ?? '')).toBe('ada')
    expect(await whoIs(planted)).toBe('eve')
  })
})

describe('two clients of one provider', () => {
  it('accept no response, code or ID token of each other', async () => {
    const browser = visitor()
    const one = await browser.goTo('/signin/one')
    const two = await browser.goTo('/signin/two')
    const [ofOne, ofTwo] = [provider.allow(one), provider.allow(two)]
    expect((await browser.get(`/signin/two/callback${ofOne}`)).status).toBe(400)
    expect((await browser.get(`/signin/one/callback${ofTwo}`)).status).toBe(400)
    const code = (query: string): string => new URLSearchParams(query).get('code') ?? ''
    const swapped = ofTwo.replace(code(ofTwo), code(ofOne))
    expect((await browser.get(`/signin/two/callback${swapped}`)).status).toBe(401)
    // Its ID token is for the other client.
    const query = provider.allow(await browser.goTo('/signin/two'))
    expect((await browser.get(`/signin/two/callback${query}`)).status).toBe(401)
    expect(signIns).toEqual([])
  })

  it.each<[number, object]>([
    [401, { azp: 'shop' }],
    [401, { aud: ['desk', 'shop'] }],
    [401, { aud: ['desk', 'shop'], azp: 'shop' }],
    [401, { aud: [] }],
    [401, { azp: null }],
    [302, { azp: 'desk' }],
    [302, { aud: ['desk', 'shop'], azp: 'desk' }],
    [302, { aud: ['desk'] }],
  ])('return %i for an ID token with %j', async (status, claims) => {
    provider.lies = { claims }
    expect((await signIn(visitor(), 'ada')).status).toBe(status)
  })
})

describe('the callback', () => {
  it.each([
    (query: string) => query.replace('code=', 'id_token=eyJhbGciOiJub25lIn0.e30.&x='),
    (query: string) => `${query}&code=other`,
    (query: string) => `${query}&iss=${encodeURIComponent('https://evil.example')}`,
    (query: string) => `${query}&response=eyJhbGciOiJub25lIn0.e30.`,
    (query: string) => `${query}&error=access_denied`,
    (query: string) => query.replace(/&iss=.*/, ''),
    (query: string) => query.replace('code=', 'code=%00'),
  ])('is 401 without a sign-in, %#', async (change) => {
    const browser = visitor()
    const query = change(provider.allow(await browser.goTo('/signin/one')))
    const response = await browser.get(`${callback}${query}`)
    const isDenied = query.includes('error=')
    expect([response.status, browser.cookies.size]).toEqual([isDenied ? response.status : 401, 0])
    expect([302, 401]).toContain(response.status)
    expect(signIns).toEqual([])
  })

  it.each([
    '/x?y=%0d%0aSet-Cookie:a=b',
    '/x#%0d%0aSet-Cookie:a=b',
    '/嘊嘍Set-Cookie:a=b',
    '/%250d%250aSet-Cookie:a=b',
    '/\u0085Set-Cookie:a=b',
    '/x\r\n\r\n<script>',
  ])('has one head, whatever %j leads to', async (to) => {
    const browser = visitor()
    const page = await browser.goTo(`/signin/one?to=${encodeURIComponent(to)}`)
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await exchange(
      app.url,
      `GET ${callback}${provider.allow(page)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: ${cookie}\r\n\r\n`,
    )
    const head = response.slice(0, response.indexOf('\r\n\r\n')).split('\r\n')
    expect(head[0]).toBe('HTTP/1.1 302 Found')
    expect(head.filter((line) => /^location: \/[!-~]*$/i.test(line))).toHaveLength(1)
    expect(head.filter((line) => /^set-cookie: (?!app_)/i.test(line))).toEqual([])
  })

  it('accepts over https no cookie that another host of the same domain can set', async () => {
    const httpsApp = await start({
      publicUrl: 'https://desk.example',
      listen: false,
      port: undefined,
    })
    const started = await httpsApp.inject('/signin/one')
    const [pair = ''] = (started.headers['set-cookie'] ?? '').split(';')
    const query = provider.allow(started.headers.location ?? '')
    const [name = '', value = ''] = pair.split('=')
    expect(name).toMatch(/^__Host-app_signin_/)
    const plain = name.replace('__Host-', '')
    const tossed = [
      ...[`${plain}=${value}`, `\u00a0${pair}`, `__host-${plain}=${value}`, `x=1,${pair}`],
      ...[
        `${name}=x; ${pair}`,
        `"${name}"=${value}`,
        `x="; ${name}"=${value}`,
        `%5F${pair.slice(1)}`,
      ],
    ]
    for (const cookie of tossed) {
      const response = await httpsApp.inject({ url: `${callback}${query}`, headers: { cookie } })
      expect([cookie.slice(0, 20), response.status]).toEqual([cookie.slice(0, 20), 400])
    }
    const response = await httpsApp.inject({
      url: `${callback}${query}`,
      headers: { cookie: pair },
    })
    expect(response.status).toBe(302)
    await httpsApp.close()
  })

  it('fails where the key has changed meanwhile: 400, and the next one works', async () => {
    const before = await start({ env: { APP_PRIVATE_KEY: makePair().privatePem } })
    const after = await start({ env: { APP_PRIVATE_KEY: makePair().privatePem } })
    const browser = new Visitor(before.url)
    const query = provider.allow(await browser.goTo('/signin/one'))
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const other = await after.inject({ url: `${callback}${query}`, headers: { cookie } })
    expect([other.status, other.json()]).toEqual([
      400,
      { error: expect.stringContaining('run out'), code: 'SIGN_IN_EXPIRED' },
    ])
    await before.close()
    await after.close()
  })
})
