/** Unique e-mail addresses over tenants or within one, and sign-in by them. Source: docs/scaling.md, Many tenants on Citus. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  HttpError,
  Module,
  NoAuth,
  Post,
  Record,
  type Application,
  type HttpRequest,
  type Rel,
} from 'filigree'
import { startBothEngines } from './both-engines.js'

/** One address is one account, which every machine has. */
@Record
class Account {
  @Field('id') id!: number
  @Field('string', { unique: true }) email!: string
  @Field('string') tenantId!: string
}

@Record({ shardBy: 'tenantId' })
class Note {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('integer') accountId!: number
  @BelongsTo(() => Account) account!: Rel<Account>
}

/** Each tenant has its own members. */
@Record({ shardBy: 'tenantId' })
class Member {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string', { unique: true }) email!: string
}

@NoAuth
@Controller('/sign-in')
class SignIns {
  static inject = [Database, Auth]
  constructor(
    private readonly database: Database,
    private readonly auth: Auth,
  ) {}

  @Post('/account', { args: ['request'], status: 200 })
  async account(request: HttpRequest) {
    const { email } = request.body as { email: string }
    const account = await this.database.records(Account).first({ where: { email } })
    if (account === null) throw new HttpError(401, 'Unknown address')
    return {
      token: await this.auth.getToken({ sub: String(account.id), tenant: account.tenantId }),
    }
  }

  @Post('/member', { args: ['request'], status: 200 })
  async member(request: HttpRequest) {
    const where = request.body as { tenantId: string; email: string }
    const member = await this.database.records(Member).first({ where })
    if (member === null) throw new HttpError(401, 'Unknown address')
    return { token: await this.auth.getToken({ sub: member.id, tenant: member.tenantId }) }
  }
}

@Module({ controllers: [SignIns], records: [Account, Note, Member] })
class Desk {}

const engines = await startBothEngines()

describe.each(engines)('on %s', (_engine, open) => {
  let app: Application
  let database: Database

  beforeAll(async () => {
    app = await bootstrap(Desk, {
      port: 0,
      host: '127.0.0.1',
      logger: false,
      database: await open(),
      env: { APP_JWT_SECRET: 'a secret of thirty-two characters' },
    })
    database = app.get(Database)
  })
  afterAll(() => app.close())

  const signIn = async (kind: string, json: object) => {
    const response = await app.inject({ method: 'POST', url: `/sign-in/${kind}`, json })
    return { status: response.status, body: JSON.parse(response.body) as object }
  }
  const used = { status: 409, errors: [{ path: 'email' }] }
  const outcome = (write: Promise<unknown>): Promise<unknown> =>
    write.then(
      () => 'written',
      (error: unknown) => {
        const { status, errors } = error as HttpError
        return { status, errors }
      },
    )

  it('a record without a shard has an address once over all tenants', async () => {
    const email = 'ada@example.com'
    const { id } = await database.records(Account).create({ email, tenantId: 'a' })
    expect(await outcome(database.records(Account).create({ email, tenantId: 'b' }))).toMatchObject(
      used,
    )
    await database.records(Note).create({ tenantId: 'a', accountId: id })
    expect(
      await database.records(Note).list({ where: { tenantId: 'a' }, with: ['account'] }),
    ).toMatchObject([{ account: { email } }])
    expect(await signIn('account', { email })).toMatchObject({
      status: 200,
      body: { token: expect.any(String) },
    })
  })

  it('a sharded record has an address once in each tenant', async () => {
    const email = 'bob@example.com'
    const members = database.records(Member)
    await members.create({ email, tenantId: 'a' })
    await members.create({ email, tenantId: 'b' })
    expect(await outcome(members.create({ email, tenantId: 'b' }))).toMatchObject(used)
    expect((await signIn('member', { email, tenantId: 'b' })).status).toBe(200)
    expect((await signIn('member', { email, tenantId: 'c' })).status).toBe(401)
    expect(await signIn('member', { email })).toMatchObject({
      status: 400,
      body: {
        errors: [{ path: 'tenantId', message: expect.stringContaining('Member is sharded by it') }],
      },
    })
  })
})
