/** `filigree/passkeys`, with an authenticator written by hand. Source: decisions, Sign-in. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  Auth,
  Controller,
  Database,
  Field,
  Get,
  HttpError,
  Module,
  Record as Row,
  Secured,
  type Claims,
  type Generated,
  type InjectResponse,
} from 'filigree'
import { Passkey, passkeys, type PasskeySignIn } from 'filigree/passkeys'
import { testApplication, type TestApplication } from 'filigree/testing'
import { startPostgres, type PostgresServer } from '../../records/postgres-server.js'
import {
  Authenticator,
  type CreationOptions,
  type Lies,
  type RequestOptions,
} from './authenticator.js'

const origin = 'https://desk.example'

@Row({ writes: false })
class Person {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('string', { default: 'open' }) state!: Generated<string>
}

@Row({ shardBy: 'tenantId' })
class ShardedPasskey extends Passkey {
  @Field('string') tenantId!: string
}

class Users {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  async byName(name: string): Promise<string | null> {
    const [user] = await this.database.records(Person).list({ where: { name }, limit: 1 })
    return user === undefined ? null : String(user.id)
  }

  async fromPasskey({ sub, credential }: PasskeySignIn): Promise<Claims | null> {
    const user = await this.database.records(Person).find(Number(sub))
    if (user === null || user.state === 'blocked') return null
    if (user.state === 'teapot') throw new HttpError(418, 'A teapot.')
    if (user.state === 'odd') return [] as never
    return { sub, name: user.name, credential, auth_time: 7, amr: ['pwd'] }
  }
}

@Controller('/')
class Site {
  @Get('/me') @Secured me(user: Claims): Claims {
    return user
  }
  @Get('/strong') @Secured({ amr: 'mfa' }) strong(): object {
    return {}
  }
}

@Module({
  controllers: [Site],
  providers: [Users],
  records: [Person],
  imports: [
    passkeys({
      name: 'Help desk',
      credentials: Passkey,
      signIn: [Users, 'fromPasskey'],
      find: [Users, 'byName'],
      manage: { fresh: '10m' },
    }),
  ],
})
class DeskModule {}

/** A browser with its cookies and the origin of its pages. */
class Browser {
  readonly cookies = new Map<string, string>()
  token = ''
  constructor(private readonly app: TestApplication) {}

  async send(
    method: string,
    url: string,
    json?: unknown,
    headers: Record<string, string> = {},
  ): Promise<InjectResponse> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await this.app.app.inject({
      method,
      url,
      ...(json === undefined ? {} : { json }),
      headers: {
        origin,
        'sec-fetch-site': 'same-origin',
        ...(cookie === '' ? {} : { cookie }),
        ...(this.token === '' ? {} : { authorization: `Bearer ${this.token}` }),
        ...headers,
      },
    })
    const set = response.headers['set-cookie']
    for (const line of [set ?? []].flat()) {
      const [pair = ''] = line.split(';')
      const [name = '', value = ''] = pair.split('=')
      this.cookies.set(name, value)
    }
    return response
  }

  async creation(name?: string): Promise<CreationOptions> {
    const response = await this.send('POST', '/passkeys/register/options', { name })
    expect(response.status).toBe(200)
    return response.json() as CreationOptions
  }

  async request(name?: string): Promise<RequestOptions> {
    const response = await this.send('POST', '/passkeys/signin/options', { name })
    expect(response.status).toBe(200)
    return response.json() as RequestOptions
  }

  async register(device: Authenticator, lies: Lies = {}): Promise<InjectResponse> {
    const credential = device.create(await this.creation('phone'), lies)
    return this.send('POST', '/passkeys/register/verify', credential)
  }

  async signIn(device: Authenticator, name?: string, lies: Lies = {}): Promise<InjectResponse> {
    const response = await this.verify(device.get(await this.request(name), lies))
    if (response.status === 200) this.token = response.headers.freshtoken ?? ''
    return response
  }

  verify(credential: unknown): Promise<InjectResponse> {
    return this.send('POST', '/passkeys/signin/verify', credential)
  }
}

describe.each(['SQLite', 'PostgreSQL'])('passkeys, on %s', (engine) => {
  let server: PostgresServer | undefined
  let app: TestApplication
  let browser: Browser
  let device: Authenticator

  beforeAll(async () => {
    if (engine === 'PostgreSQL') server = await startPostgres()
    app = await testApplication(DeskModule, {
      publicUrl: origin,
      ...(server === undefined ? {} : { database: await server.createDatabase() }),
    })
  })
  afterAll(async () => {
    await app.close()
    await server?.close()
  })
  beforeEach(async () => {
    await app.reset({ emptyTables: true })
    await app.get(Database).records(Person).create({ name: 'ada' })
    await app.get(Database).records(Person).create({ name: 'bob' })
    browser = await signedIn('1')
    device = new Authenticator(origin)
  })

  const signedIn = async (sub: string): Promise<Browser> => {
    const signedInBrowser = new Browser(app)
    signedInBrowser.token = await app.get(Auth).getToken({ sub })
    return signedInBrowser
  }
  const change = (id: number, values: object) =>
    app.get(Database).records(Person).update(id, values)
  const claimsOf = async (one: Browser): Promise<Claims> =>
    (await one.send('GET', '/me')).json() as Claims
  const refused = {
    status: 401,
    body: '{"error":"This passkey was not accepted.","code":"PASSKEY_REFUSED"}',
  }
  const short = ({ status, body }: InjectResponse): object => ({ status, body })

  it('are registered, listed and used to sign in, with and without a name', async () => {
    const options = await browser.creation()
    expect(options).toMatchObject({
      rp: { id: 'desk.example', name: 'Help desk' },
      user: { name: '1' },
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
      attestation: 'none',
      excludeCredentials: [],
    })
    const registered = await browser.register(device)
    expect(registered.status).toBe(201)
    const [listed] = (await browser.send('GET', '/passkeys')).json() as Passkey[]
    expect(registered.json()).toEqual(listed)
    expect(listed).toMatchObject({
      id: 1,
      name: 'phone',
      transports: ['hybrid', 'internal'],
      lastUsed: null,
    })
    expect(Object.keys(listed as object)).not.toContain('publicKey')

    for (const name of [undefined, 'ada']) {
      const visitor = new Browser(app)
      const response = await visitor.signIn(device, name)
      expect(response.status).toBe(200)
      expect(response.json()).toEqual({ sub: '1' })
      const claims = await claimsOf(visitor)
      expect(claims).toMatchObject({ sub: '1', name: 'ada', amr: ['hwk', 'user', 'mfa'] })
      expect(claims.auth_time).toBeGreaterThan(7)
      expect(claims.credential).toBe(listed?.credential)
      expect((await visitor.send('GET', '/strong')).status).toBe(200)
    }
    const [used] = (await browser.send('GET', '/passkeys')).json() as Passkey[]
    expect(used?.lastUsed).not.toBeNull()
  })

  it('can be several, of which only the owner can remove one', async () => {
    const second = new Authenticator(origin, false)
    await browser.register(device)
    const { id } = (await browser.register(second)).json() as Passkey
    expect((await browser.creation()).excludeCredentials).toHaveLength(2)
    const other = await signedIn('2')
    const [ownId] = [...device.passkeys.keys()]
    for (const name of [String(id), ownId, '999', 'x', '__proto__', '1%20or%201=1'])
      expect((await other.send('DELETE', `/passkeys/${name}`)).status).toBe(404)
    expect(((await other.send('GET', '/passkeys')).json() as Passkey[]).length).toBe(0)
    expect((await browser.send('DELETE', `/passkeys/${ownId}`)).status).toBe(204)
    expect(short(await new Browser(app).signIn(device))).toEqual(refused)
    for (let count = 0; count < 3; count++)
      expect((await new Browser(app).signIn(second)).status).toBe(200)
    expect((await browser.send('DELETE', `/passkeys/${id}`)).status).toBe(204)
    expect((await browser.send('DELETE', `/passkeys/${id}`)).status).toBe(404)
    expect(short(await new Browser(app).signIn(second))).toEqual(refused)
  })

  it('accept a response once, also of fifty concurrently', async () => {
    await browser.register(device)
    const visitor = new Browser(app)
    const response = device.get(await visitor.request())
    const responses = await Promise.all(Array.from({ length: 50 }, () => visitor.verify(response)))
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(responses.filter(({ status }) => status === 401)).toHaveLength(49)
    expect(short(await visitor.verify(response))).toEqual(refused)
    const created = device.create(await browser.creation())
    const registrations = await Promise.all(
      Array.from({ length: 20 }, () => browser.send('POST', '/passkeys/register/verify', created)),
    )
    expect(registrations.filter(({ status }) => status === 201)).toHaveLength(1)
  })

  it('use up a challenge with a wrong response too', async () => {
    await browser.register(device)
    const visitor = new Browser(app)
    const options = await visitor.request()
    const right = device.get(options)
    const wrong = { ...right, response: { ...(right.response as object), signature: 'AAAA' } }
    expect(short(await visitor.verify(wrong))).toEqual(refused)
    expect(short(await visitor.verify(right))).toEqual(refused)
  })

  it('work in two tabs of a browser, and in no other browser', async () => {
    await browser.register(device)
    const visitor = new Browser(app)
    const [first, second] = [await visitor.request(), await visitor.request('ada')]
    expect(visitor.cookies.size).toBe(1)
    expect((await visitor.verify(device.get(second))).status).toBe(200)
    expect(short(await new Browser(app).verify(device.get(await visitor.request())))).toEqual(
      refused,
    )
    const thief = new Browser(app)
    await thief.request()
    expect(short(await thief.verify(device.get(await visitor.request())))).toEqual(refused)
    device.counter += 1
    expect((await visitor.verify(device.get(first))).status).toBe(200)
  })

  it('have a challenge that expires after five minutes', async () => {
    await browser.register(device)
    const visitor = new Browser(app)
    const options = await visitor.request()
    await app.clock.advance('5m')
    expect(short(await visitor.verify(device.get(options)))).toEqual(refused)
  })

  it.each<[string, Lies]>([
    ['of a subdomain', { origin: 'https://evil.desk.example' }],
    ['of another port', { origin: 'https://desk.example:8443' }],
    ['without TLS', { origin: 'http://desk.example' }],
    ['null', { origin: 'null' }],
    ['with the same beginning only', { origin: 'https://desk.example.evil.example' }],
    ['of another relying party', { rpId: 'evil.example' }],
    ['for another purpose', { type: 'webauthn.create' }],
    ['without the user', { flags: 0x00 }],
    ['without verification of the user', { flags: 0x01 }],
    ['with another challenge', { challenge: 'A'.repeat(43) }],
    ['of another user by its handle', { userHandle: 'AAAA' }],
    ['within another site', { crossOrigin: true, origin: 'https://evil.example' }],
  ])('refuse a sign-in %s', async (_what, lies) => {
    await browser.register(device)
    expect(short(await new Browser(app).signIn(device, undefined, lies))).toEqual(refused)
  })

  it.each<[string, Lies]>([
    ['of another origin', { origin: 'https://evil.example' }],
    ['of another relying party', { rpId: 'evil.example' }],
    ['for another purpose', { type: 'webauthn.get' }],
    ['without verification of the user', { flags: 0x01 }],
    ['with another challenge', { challenge: 'A'.repeat(43) }],
  ])('refuse a registration %s', async (_what, lies) => {
    expect(short(await browser.register(device, lies))).toEqual(refused)
    expect((await browser.send('GET', '/passkeys')).json()).toEqual([])
  })

  it('refuse a counter that does not increase, and one of two equal ones', async () => {
    await browser.register(device)
    await new Browser(app).signIn(device)
    const { counter } = device
    for (const lie of [counter, counter - 1, 0])
      expect(short(await new Browser(app).signIn(device, undefined, { counter: lie }))).toEqual(
        refused,
      )
    const clones = await Promise.all(
      Array.from({ length: 10 }, () =>
        new Browser(app).signIn(device, undefined, { counter: counter + 1 }),
      ),
    )
    expect(clones.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(
      (await new Browser(app).signIn(device, undefined, { counter: 4_294_967_295 })).status,
    ).toBe(200)
  })

  it('of another user are refused for the named user', async () => {
    const bob = await signedIn('2')
    const his = new Authenticator(origin)
    await bob.register(his)
    await browser.register(device)
    const visitor = new Browser(app)
    const [credential] = [...his.passkeys.keys()]
    expect(
      short(await visitor.verify(his.get(await visitor.request('ada'), {}, credential))),
    ).toEqual(refused)
    const [hers] = [...device.passkeys.keys()]
    const forged = { ...his.get(await visitor.request()), id: hers, rawId: hers }
    expect(short(await visitor.verify(forged))).toEqual(refused)
  })

  it('are registered for the signed-in user only', async () => {
    const created = device.create(await browser.creation())
    const other = await signedIn('2')
    for (const [name, value] of browser.cookies) other.cookies.set(name, value)
    expect(short(await other.send('POST', '/passkeys/register/verify', created))).toEqual(refused)
    const nobody = new Browser(app)
    for (const [method, url] of [
      ['POST', '/passkeys/register/options'],
      ['POST', '/passkeys/register/verify'],
      ['GET', '/passkeys'],
      ['DELETE', '/passkeys/1'],
    ] as const)
      expect((await nobody.send(method, url, method === 'POST' ? created : undefined)).status).toBe(
        401,
      )
    // The same credential again, for another user.
    await browser.register(device)
    const second = device.create(await other.creation())
    const [existingId] = [...device.passkeys.keys()]
    expect([second.id === existingId, (await other.send('GET', '/passkeys')).json()]).toEqual([
      false,
      [],
    ])
  })

  it('cannot be added or removed with an ended token, or long after the sign-in', async () => {
    const auth = app.get(Auth)
    await browser.register(device)
    const created = new Authenticator(origin).create(await browser.creation())
    const claims = await auth.verify(browser.token)
    await auth.revoke(String(claims?.jti))
    const listPasskeys = (): Promise<Passkey[]> => app.get(Database).records(Passkey).list()
    const tries = async (): Promise<number[]> => {
      const options = await browser.send('POST', '/passkeys/register/options', {})
      const verify = await browser.send('POST', '/passkeys/register/verify', created)
      const removal = await browser.send(
        'DELETE',
        `/passkeys/${(await listPasskeys())[0]?.id ?? 0}`,
      )
      return [options, verify, removal].map(({ status }) => status)
    }
    expect(await tries()).toEqual([401, 401, 401])
    const old = Math.floor(app.clock.now() / 1000) - 700
    browser.token = await auth.getToken({ sub: '1', auth_time: old })
    expect(await tries()).toEqual([403, 403, 403])
    expect((await browser.send('GET', '/passkeys')).json()).toHaveLength(1)
    expect(await listPasskeys()).toHaveLength(1)
  })

  it('sign in their owner after another user, and the last one can be removed', async () => {
    await browser.register(device)
    const other = await signedIn('2')
    const before = other.token
    expect((await other.signIn(device)).json()).toEqual({ sub: '1' })
    expect((await claimsOf(other)).sub).toBe('1')
    other.token = before
    expect((await claimsOf(other)).sub).toBe('2')
    const visitor = new Browser(app)
    const underWay = device.get(await visitor.request())
    const [{ id }] = (await browser.send('GET', '/passkeys')).json() as [Passkey]
    expect((await browser.send('DELETE', `/passkeys/${id}`)).status).toBe(204)
    expect(short(await visitor.verify(underWay))).toEqual(refused)
    // The same as a user without passkeys.
    const { allowCredentials } = await visitor.request('ada')
    expect([...device.passkeys.keys()]).not.toContain(allowCredentials[0]?.id)
    expect((await visitor.request('ada')).allowCredentials).toEqual(allowCredentials)
    expect((await claimsOf(browser)).sub).toBe('1')
  })

  it('accept no cookie that another host of the same domain can set', async () => {
    await browser.register(device)
    const visitor = new Browser(app)
    const response = device.get(await visitor.request())
    const [[name, value] = ['', '']] = [...visitor.cookies]
    expect(name).toBe('__Host-app_passkeys')
    for (const tossed of ['app_passkeys', '\u00a0__Host-app_passkeys', '__host-app_passkeys']) {
      const from = new Browser(app)
      from.cookies.set(tossed, value)
      const forged = { ...response, ...device.get(await visitor.request()) }
      expect(short(await from.verify(forged))).toEqual(refused)
    }
  })

  it('have challenges that are bound to their purpose', async () => {
    await browser.register(device)
    const created = device.create({
      ...(await browser.creation()),
      challenge: (await browser.request()).challenge,
    })
    expect(short(await browser.send('POST', '/passkeys/register/verify', created))).toEqual(refused)
    const forSignIn = {
      ...(await browser.request()),
      challenge: (await browser.creation()).challenge,
    }
    expect(short(await browser.verify(device.get(forSignIn)))).toEqual(refused)
  })

  it('have the same options whether the name exists or not, each time', async () => {
    await browser.register(device)
    const optionsFor = async (name: string) => {
      const options = await new Browser(app).request(name)
      return { ...options, challenge: '' }
    }
    const [ada, bob, nobody, other] = [
      await optionsFor('ada'),
      await optionsFor('bob'),
      await optionsFor('nobody'),
      await optionsFor('other'),
    ]
    expect(bob).toEqual(await optionsFor('bob'))
    expect(nobody).toEqual(await optionsFor('nobody'))
    expect(nobody).not.toEqual(other)
    for (const options of [ada, bob, nobody]) {
      expect(Object.keys(options)).toEqual(Object.keys(ada))
      expect(options.allowCredentials.length).toBeGreaterThan(0)
      for (const one of options.allowCredentials) {
        expect(Object.keys(one)).toEqual(['type', 'id', 'transports'])
        expect(one.id).toMatch(/^[\w-]{22,43}$/)
        // Sorted, like stored ones.
        expect(one.transports).toEqual([...one.transports].sort())
      }
    }
    // A decoy belongs to no user, and is refused like a removed passkey.
    const decoy = nobody.allowCredentials[0]?.id ?? ''
    const visitor = new Browser(app)
    const forged = { ...device.get(await visitor.request('nobody'), {}), id: decoy, rawId: decoy }
    expect(short(await visitor.verify(forged))).toEqual(refused)
  })

  it('sign in the user that the application allows', async () => {
    await browser.register(device)
    await change(1, { state: 'blocked' })
    expect((await new Browser(app).signIn(device)).status).toBe(403)
    await change(1, { state: 'teapot' })
    expect((await new Browser(app).signIn(device)).status).toBe(418)
    await change(1, { state: 'odd' })
    expect((await new Browser(app).signIn(device)).status).toBe(500)
    await change(1, { state: 'open' })
    expect((await new Browser(app).signIn(device)).status).toBe(200)
  })

  it('are sent as JSON, and only from our pages', async () => {
    const visitor = new Browser(app)
    const routes = [
      '/passkeys/register/options',
      '/passkeys/register/verify',
      '/passkeys/signin/options',
      '/passkeys/signin/verify',
    ]
    for (const url of routes) {
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'text/plain; application/json',
        'application/json-seq',
        '',
      ]) {
        const response = await app.app.inject({
          method: 'POST',
          url,
          headers: {
            ...(type === '' ? {} : { 'content-type': type }),
            authorization: `Bearer ${browser.token}`,
          },
          body: type.startsWith('multipart')
            ? '--x\r\ncontent-disposition: form-data; name="name"\r\n\r\nada\r\n--x--\r\n'
            : '{"name":"ada"}',
        })
        expect([url, type, [400, 415].includes(response.status)]).toEqual([url, type, true])
      }
      const foreign: readonly Record<string, string>[] = [
        { origin: 'https://evil.example' },
        { origin: 'https://a.desk.example' },
        { origin: 'https://desk.example:444' },
        { origin: 'http://desk.example' },
        { origin: 'null' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
      ]
      for (const headers of foreign) {
        const body = { id: 'a', rawId: 'a', type: 'public-key', response: {} }
        visitor.token = browser.token
        expect((await visitor.send('POST', url, body, headers)).status).toBe(403)
      }
    }
    await browser.register(device)
    const evil = { origin: 'https://evil.example' }
    expect((await browser.send('DELETE', '/passkeys/1', undefined, evil)).status).toBe(403)
  })

  it('ignore the Host header, and set a cookie that other hosts cannot', async () => {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' }
    const response = await browser.send('POST', '/passkeys/signin/options', {}, headers)
    expect(response.json()).toMatchObject({ rpId: 'desk.example' })
    expect(String(response.headers['set-cookie'])).toMatch(
      /^__Host-app_passkeys=[\w-]{43}; Max-Age=300; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    )
    expect(response.headers['cache-control']).toContain('no-store')
  })

  it('refuse an invalid authenticator response, without a server error', async () => {
    const good = device.create(await browser.creation())
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
    const odd: unknown[] = [
      { ...good, response: null },
      { ...good, response: [] },
      { ...good, response: 'x' },
      { ...good, response: { clientDataJSON: 7 } },
      { ...good, response: { clientDataJSON: 'bnVsbA' } },
      { ...good, response: { clientDataJSON: Buffer.from(deep).toString('base64url') } },
      { ...good, response: JSON.parse('{"__proto__":{"clientDataJSON":"x"}}') as unknown },
      { ...good, response: { constructor: {}, clientDataJSON: 'e30' } },
      { ...good, id: '__proto__' },
      { ...good, id: 'é' },
      { ...good, type: 'password' },
      { ...good, id: 'x'.repeat(2000) },
      {},
    ]
    for (const url of ['/passkeys/register/verify', '/passkeys/signin/verify'])
      for (const body of odd) {
        const { status } = await browser.send('POST', url, body)
        expect([400, 401]).toContain(status)
      }
    const huge = { ...good, filler: 'x'.repeat(100_000) }
    expect((await browser.send('POST', '/passkeys/signin/verify', huge)).status).toBe(413)
    for (const name of ['__proto__', 'constructor', '\0', '\ud800', 'x'.repeat(200)])
      expect([200, 400]).toContain(
        (await browser.send('POST', '/passkeys/signin/options', { name })).status,
      )
    expect((await browser.send('POST', '/passkeys/signin/options', { name: {} })).status).toBe(400)
  })
})

describe('the start', () => {
  it('refuses missing methods, and a public address without a name', async () => {
    const start = (options: object, publicUrl = origin): Promise<unknown> => {
      @Module({
        providers: [Users],
        records: [Person],
        imports: [passkeys({ name: 'x', signIn: [Users, 'fromPasskey'], ...options })],
      })
      class OddModule {}
      return testApplication(OddModule, { publicUrl }).then((app) => app.close())
    }
    await expect(start({ signIn: [Users, 'from'] })).rejects.toThrow(
      'passkeys: signIn names Users.from, which is not a method.',
    )
    await expect(start({ find: [Users, 'toString'] })).rejects.toThrow('which is not a method')
    await expect(start({ signIn: 'x' })).rejects.toThrow('passkeys: signIn cannot be used.')
    await expect(start({ credentials: Person })).rejects.toThrow('passkeys: credentials cannot')
    await expect(start({ credentials: ShardedPasskey })).rejects.toThrow(
      /passkeys: credentials names ShardedPasskey, which is sharded by tenantId,[^]*Remove shardBy from ShardedPasskey, and put tenantId into the claim sub/,
    )
    await expect(start({}, 'https://192.0.2.1')).rejects.toThrow('passkeys require a host name')
  })
})
