/** Users that are sharded by their tenant sign in in every way. Source: docs/scaling.md, Many tenants on Citus. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  HttpError,
  Module,
  NoAuth,
  oneTime,
  Post,
  Record,
  Secured,
  type Application,
  type Claims,
  type Generated,
  type HttpRequest,
  type InjectResponse,
  type OneTime,
} from 'filigree'
import { oidc, type SignIn } from 'filigree/oidc'
import { passkeys, type PasskeySignIn } from 'filigree/passkeys'
import { LyingProvider } from '../modules/oidc/fake-provider.js'
import { Visitor } from '../modules/oidc/visitor.js'
import {
  Authenticator,
  type CreationOptions,
  type RequestOptions,
} from '../modules/passkeys/authenticator.js'
import { startBothEngines } from './both-engines.js'

const origin = 'https://desk.example'
const resets = oneTime<string>('password reset of a member', { for: '10m' })

@Record({
  shardBy: 'tenantId',
  rows: (user, { by }) => by === 'key' || (user !== null && { tenantId: String(user.tenant) }),
})
class Member {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string', { unique: true }) name!: string
  @Field('integer', { default: 0 }) uses!: Generated<number>
}

/** The claim `sub` leads to the shard: `a/0190…`. */
const toSub = ({ tenantId, id }: Member): string => `${tenantId}/${id}`

/** Counts the use of a member in the transaction of the sign-in. */
class Members {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  use(sub: string, isRefused = false): Promise<Claims | null> {
    const [tenantId = '', id = ''] = sub.split('/')
    const members = this.database.records(Member)
    return this.database.transaction(async () => {
      const member = await members.find(id, { tenantId, lock: true })
      if (member === null) return null
      await members.update(id, { uses: member.uses + 1 }, { tenantId })
      if (isRefused) throw new HttpError(401, 'Refused after the write.')
      return { sub, tenant: tenantId }
    })
  }

  /** @param name the tenant and the name: `a/ada` */
  async byName(text: string): Promise<string | null> {
    const [tenantId = '', name = ''] = text.split('/')
    const member = await this.database.records(Member).first({ where: { tenantId, name } })
    return member && toSub(member)
  }

  fromPasskey({ sub }: PasskeySignIn): Promise<Claims | null> {
    return this.use(sub)
  }

  /** Creates the member at its first sign-in. */
  async fromProvider({ subject }: SignIn): Promise<Claims | null> {
    const values = { tenantId: 'a', name: `provider ${subject}` }
    const member = await this.database.records(Member).upsert(values, { by: 'name' })
    return this.use(toSub(member))
  }
}

interface Pair {
  readonly access: string
  readonly refresh: string
}

@Controller('/sign-in')
@NoAuth
class SignIns {
  static readonly inject = [Auth, Members, resets]
  constructor(
    private readonly auth: Auth,
    private readonly members: Members,
    private readonly resets: OneTime<string>,
  ) {}

  @Post('/', { args: ['request'], status: 200, transaction: true })
  async signIn(request: HttpRequest): Promise<Pair> {
    const { name } = request.body as { name: string }
    return this.pairOf((await this.members.byName(name)) ?? '', randomUUID())
  }

  @Post('/refresh', { args: ['request'], status: 200 })
  async refresh(request: HttpRequest): Promise<Pair> {
    const { refresh, isRefused = false } = request.body as { refresh: string; isRefused?: boolean }
    const pair = await this.auth.exchange(refresh, { audience: 'refresh' }, ({ sub = '', jti }) =>
      this.pairOf(sub, jti ?? '', isRefused),
    )
    if (pair === null) throw new HttpError(401, 'Sign in again.')
    return pair
  }

  @Post('/link', { args: ['request'], status: 200 })
  async makeLink(request: HttpRequest): Promise<{ token: string }> {
    const { name } = request.body as { name: string }
    return { token: await this.resets.make((await this.members.byName(name)) ?? '') }
  }

  @Post('/link/use', { args: ['request'], status: 200, transaction: true })
  async useLink(request: HttpRequest): Promise<Claims> {
    const { token, isRefused } = request.body as { token: string; isRefused?: boolean }
    const claims = await this.members.use((await this.resets.take(token)) ?? '', isRefused)
    if (claims === null) throw new HttpError(401, 'The link was used.')
    return claims
  }

  /** The first of two factors. */
  @Post('/step', { args: ['request'], status: 200 })
  async firstStep(request: HttpRequest): Promise<{ step: string }> {
    const { name } = request.body as { name: string }
    const sub = (await this.members.byName(name)) ?? ''
    return { step: await this.auth.getToken({ sub }, { audience: 'second step' }) }
  }

  @Post('/step/code', { args: ['request'], status: 200, transaction: true })
  async secondStep(request: HttpRequest): Promise<{ access: string }> {
    const { step } = request.body as { step: string }
    const verified = await this.auth.verify(step, { audience: 'second step' })
    const claims = await this.members.use(verified?.sub ?? '')
    if (claims === null) throw new HttpError(401)
    return { access: await this.auth.getToken({ ...claims, amr: ['pwd', 'otp'] }) }
  }

  private async pairOf(sub: string, jti: string, isRefused = false): Promise<Pair> {
    const claims = await this.members.use(sub, isRefused)
    if (claims === null) throw new HttpError(401, 'Sign in again.')
    return {
      access: await this.auth.getToken({ ...claims, jti }),
      refresh: await this.auth.getToken(
        { ...claims, jti, once: randomUUID() },
        { audience: 'refresh' },
      ),
    }
  }
}

@Controller('/me')
@Secured
class Me {
  static readonly inject = [Auth]
  constructor(private readonly auth: Auth) {}
  @Get('/') me(user: Claims): Claims {
    return user
  }
  @Post('/end') async end(user: Claims): Promise<void> {
    await this.auth.revoke(user.jti ?? '')
  }
}

@Controller('/members', { crud: Member })
class MemberList {}

const engines = await startBothEngines()

describe.each(engines)('sharded users, on %s, sign in', (_engine, open) => {
  let app: Application
  let provider: LyingProvider
  let database: Database

  beforeAll(async () => {
    provider = await LyingProvider.start()
    @Module({
      controllers: [SignIns, Me, MemberList],
      providers: [Members, resets],
      records: [Member],
      imports: [
        passkeys({
          name: 'Desk',
          signIn: [Members, 'fromPasskey'],
          find: [Members, 'byName'],
        }),
        oidc({
          name: 'one',
          issuer: provider.issuer,
          clientId: 'desk',
          clientSecret: 'secret',
          signIn: [Members, 'fromProvider'],
        }),
      ],
    })
    class Desk {}
    app = await bootstrap(Desk, {
      port: 0,
      host: '127.0.0.1',
      logger: false,
      publicUrl: origin,
      database: await open(),
      auth: { cookie: { name: 'desk' } },
      env: { APP_JWT_SECRET: 's'.repeat(32), APP_API_KEY: 'k'.repeat(32) },
    })
    database = app.get(Database)
  })
  afterAll(async () => {
    await app.close()
    await provider.close()
  })

  /** @returns the name for sign-ins, and the claim `sub` */
  async function addMember(): Promise<readonly [name: string, sub: string]> {
    const values = { tenantId: 'a', name: randomUUID() }
    const member = await database.records(Member).create(values)
    return [`a/${values.name}`, toSub(member)]
  }
  const usesOf = async (sub: string): Promise<unknown> => {
    const [tenantId = '', id = ''] = sub.split('/')
    return (await database.records(Member).find(id, { tenantId }))?.uses
  }
  const post = (url: string, json: object, headers: object = {}): Promise<InjectResponse> =>
    app.inject({ method: 'POST', url, json, headers: { origin, ...headers } })

  it('by refresh tokens, which are rotated and end with the sign-in', async () => {
    const [name, sub] = await addMember()
    const first = (await post('/sign-in', { name })).json() as Pair
    expect(
      (await post('/sign-in/refresh', { refresh: first.refresh, isRefused: true })).status,
    ).toBe(401)
    const second = (await post('/sign-in/refresh', { refresh: first.refresh })).json() as Pair
    expect(second.refresh).not.toBe(first.refresh)
    // A repeated exchange returns the same pair.
    expect((await post('/sign-in/refresh', { refresh: first.refresh })).json()).toEqual(second)
    expect(await usesOf(sub)).toBe(2)
    const authorization = `Bearer ${second.access}`
    expect((await app.inject({ url: '/me', headers: { authorization } })).json()).toMatchObject({
      sub,
      tenant: 'a',
    })
    expect((await post('/me/end', {}, { authorization })).status).toBe(204)
    expect((await post('/sign-in/refresh', { refresh: second.refresh })).status).toBe(401)
    expect(await usesOf(sub)).toBe(2)
  })

  it('by links that work once, and again after a failure', async () => {
    const [name, sub] = await addMember()
    const { token } = (await post('/sign-in/link', { name })).json() as { token: string }
    expect((await post('/sign-in/link/use', { token, isRefused: true })).status).toBe(401)
    expect(await usesOf(sub)).toBe(0)
    const uses = await Promise.all([1, 2, 3].map(() => post('/sign-in/link/use', { token })))
    expect(uses.map(({ status }) => status).sort()).toEqual([200, 401, 401])
    expect(await usesOf(sub)).toBe(1)
  })

  it('by a second factor', async () => {
    const [name, sub] = await addMember()
    const { step } = (await post('/sign-in/step', { name })).json() as { step: string }
    const { access } = (await post('/sign-in/step/code', { step })).json() as { access: string }
    const headers = { authorization: `Bearer ${access}` }
    expect((await app.inject({ url: '/me', headers })).json()).toMatchObject({ sub })
    expect(await usesOf(sub)).toBe(1)
  })

  it('by passkeys, with and without a name', async () => {
    const [name, sub] = await addMember()
    const device = new Authenticator(origin)
    const authorization = `Bearer ${await app.get(Auth).getToken({ sub })}`
    let cookie = ''
    const send = async (path: string, json: object): Promise<InjectResponse> => {
      const response = await post(`/passkeys/${path}`, json, { authorization, cookie })
      const [set] = [response.headers['set-cookie'] ?? []].flat()
      if (set !== undefined) cookie = set.split(';')[0] ?? ''
      return response
    }
    const creation = (await send('register/options', {})).json() as CreationOptions
    expect((await send('register/verify', device.create(creation))).status).toBe(201)
    for (const body of [{}, { name }]) {
      const options = (await send('signin/options', body)).json() as RequestOptions
      const response = await send('signin/verify', device.get(options))
      expect([response.status, response.json()]).toEqual([200, { sub }])
    }
    expect(await usesOf(sub)).toBe(2)
  })

  it('by a provider, in the transaction that creates the member', async () => {
    const visitor = new Visitor(app.url)
    for (const uses of [1, 2]) {
      const page = await visitor.goTo('/signin/one?to=/me')
      const back = await visitor.get(`/signin/one/callback${provider.allow(page)}`)
      expect(back.status).toBe(302)
      const member = await database
        .records(Member)
        .first({ where: { tenantId: 'a', name: 'provider 7' } })
      expect(member?.uses).toBe(uses)
    }
  })

  it('and see their tenant, while the key of the operator names one', async () => {
    const [name] = await addMember()
    await database.records(Member).create({ tenantId: 'b', name: 'strange' })
    const { access } = (await post('/sign-in', { name })).json() as Pair
    const list = async (token: string, query: string) => {
      const headers = { authorization: `Bearer ${token}` }
      const { status, body } = await app.inject({ url: `/members?${query}`, headers })
      return { status, hasStrange: body.includes('strange') }
    }
    expect(await list(access, 'limit=100')).toEqual({ status: 200, hasStrange: false })
    const key = 'k'.repeat(32)
    expect(await list(key, 'tenantId=b')).toEqual({ status: 200, hasStrange: true })
    expect((await list(key, 'limit=100')).status).toBe(400)
  })
})
