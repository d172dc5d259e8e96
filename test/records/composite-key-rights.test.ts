/** The access rules of a record whose key has several fields, by REST and by the records of a caller, on both engines. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  type Application,
  Auth,
  BelongsTo,
  bootstrap,
  type Claims,
  Controller,
  Database,
  Field,
  type Generated,
  HasMany,
  ManyToMany,
  Module,
  Record,
  type Rel,
  type RowsCaller,
  Secured,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'

const ownRows = (user: Claims | null, { by }: RowsCaller) =>
  by === 'key' || { owner: user?.sub ?? '' }

@Record({ key: ['bank', 'number'], rows: ownRows, version: true, softDelete: true })
class Account {
  @Field('string') bank!: string
  @Field('integer') number!: number
  @Field('string') owner!: string
  @Field('string', { default: '' }) note!: Generated<string>
  @Secured('admin')
  @Field('integer', { default: 7 })
  score!: Generated<number>
  @HasMany(() => Payment) payments!: Rel<Payment[]>
  @ManyToMany(() => Mandate) mandates!: Rel<Mandate[]>
}

@Record
class Payment {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('string', { optional: true, nullable: true }) accountBank?: string | null
  @Field('integer', { optional: true, nullable: true }) accountNumber?: number | null
  @BelongsTo(() => Account) account?: Rel<Account>
}

@Record({ key: ['bank', 'code'], writes: 'admin' })
class Mandate {
  @Field('string') bank!: string
  @Field('string') code!: string
  @ManyToMany(() => Account) accounts!: Rel<Account[]>
}

@Controller('/accounts', { crud: Account })
class Accounts {}
@Controller('/payments', { crud: Payment })
class Payments {}
@Controller('/mandates', { crud: Mandate })
class Mandates {}
@Module({
  controllers: [Accounts, Payments, Mandates],
  records: [Account, Payment, Mandate],
})
class Bank {}

const engines = await startBothEngines()

describe.each(engines)('the rights of a record with a key of two fields on %s', (_name, open) => {
  let app: Application
  let tokens: { [name: string]: string }

  beforeAll(async () => {
    app = await bootstrap(Bank, {
      listen: false,
      logger: false,
      database: await open(),
      env: { APP_API_KEY: 'key' },
      graphql: false,
    })
    const auth = app.get(Auth)
    const issue = (sub: string, roles: string[] = []) => auth.getToken({ sub, roles })
    tokens = {
      ann: await issue('ann'),
      bob: await issue('bob'),
      admin: await issue('ann', ['admin']),
    }
  })
  afterAll(() => app.close())

  beforeEach(async () => {
    const database = app.get(Database)
    await database.records(Payment).deleteWhere({})
    for (const owner of ['ann', 'bob']) {
      const values = { bank: 'A,1', number: owner === 'ann' ? 1 : 2, owner, note: owner }
      await database.records(Account).upsert(values, { by: ['bank', 'number'] })
    }
    await database.records(Mandate).upsert({ bank: 'A,1', code: 'x' }, { by: ['bank', 'code'] })
  })

  async function send(caller: string, method: string, url: string, json?: object) {
    const token = caller === 'key' ? 'key' : tokens[caller]
    const response = await app.inject({
      method,
      url,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      ...(json && { json }),
    })
    return {
      status: response.status,
      body: (response.body === '' ? null : response.json()) as never,
      text: response.body,
    }
  }

  const at = (number: number) => `/accounts/A%2C1,${number}`

  it('shows only the rows of the caller', async () => {
    expect((await send('ann', 'GET', at(1))).status).toBe(200)
    expect((await send('ann', 'GET', at(2))).status).toBe(404)
    expect((await send('key', 'GET', at(2))).status).toBe(200)
    const listed: Account[] = (await send('ann', 'GET', '/accounts')).body
    expect(listed.map(({ number }) => number)).toEqual([1])
  })

  it('conceals a secured field', async () => {
    expect((await send('ann', 'GET', at(1))).body).not.toHaveProperty('score')
    expect((await send('admin', 'GET', at(1))).body).toMatchObject({ score: 7 })
    expect((await send('ann', 'PATCH', at(1), { score: 9 })).status).toBe(403)
  })

  it('writes only the rows of the caller', async () => {
    expect((await send('ann', 'PATCH', at(1), { note: 'mine' })).body).toMatchObject({
      note: 'mine',
    })
    expect((await send('ann', 'PATCH', at(2), { note: 'x' })).status).toBe(404)
    expect((await send('ann', 'DELETE', at(2))).status).toBe(404)
    expect((await send('ann', 'PATCH', at(1), { owner: 'bob' })).status).toBe(403)
    const taken = { bank: 'B', number: 5, owner: 'bob' }
    expect((await send('ann', 'POST', '/accounts', taken)).status).toBe(403)
    expect((await send('nobody', 'POST', '/accounts', taken)).status).toBe(401)
    const stored = await app.get(Database).records(Account).list({ orderBy: 'number' })
    expect(stored.map(({ owner, note }) => [owner, note])).toEqual([
      ['ann', 'mine'],
      ['bob', 'bob'],
    ])
  })

  it('gives the same response for a hidden and a missing row', async () => {
    const operations = (number: number) => [
      () => send('ann', 'GET', at(number)),
      () => send('ann', 'PATCH', at(number), { note: 'x' }),
      () => send('ann', 'PATCH', at(number), {}),
      () => send('ann', 'DELETE', at(number)),
      () => send('ann', 'GET', `/payments?account.number=${number}`),
      () =>
        send('ann', 'POST', '/payments', {
          text: 'x',
          accountBank: 'A,1',
          accountNumber: number,
        }),
      () =>
        send('ann', 'POST', '/payments', {
          text: 'x',
          account: { connect: { bank: 'A,1', number } },
        }),
    ]
    const missing = operations(99)
    for (const [index, operation] of operations(2).entries()) {
      const [ofHidden, ofMissing] = [await operation(), await missing[index]?.()]
      expect([index, ofHidden.status, ofHidden.text.replaceAll('2', '99')]).toEqual([
        index,
        ofMissing?.status,
        ofMissing?.text.replaceAll('2', '99'),
      ])
    }
  })

  it('checks references, nested rows and links', async () => {
    const named = { text: 'x', accountBank: 'A,1', accountNumber: 1 }
    const paid = await send('ann', 'POST', '/payments', named)
    expect(paid.status).toBe(201)
    const { id } = paid.body as Payment
    const moved = await send('ann', 'PATCH', `/payments/${id}`, { accountNumber: 2 })
    expect(moved.status).toBe(409)
    expect((await send('bob', 'GET', `/payments/${id}?with=account`)).body).toMatchObject({
      account: null,
    })
    expect((await send('bob', 'GET', '/payments?account.bank=A%252C1')).body).toEqual([])
    const nested = await send('ann', 'PATCH', at(1), {
      payments: { update: [{ id, text: 'y' }], create: [{ text: 'z' }] },
    })
    expect(nested.status).toBe(200)
    const link = { mandates: { connect: [{ bank: 'A,1', code: 'x' }] } }
    expect((await send('ann', 'PATCH', at(1), link)).status).toBe(403)
    expect((await send('admin', 'PATCH', at(1), link)).status).toBe(200)
    const ids = { mandateIds: [{ bank: 'A,1', code: 'x' }] }
    const linked = await send('admin', 'PATCH', at(1), ids)
    expect(linked.status).toBe(200)
    expect((await send('ann', 'GET', `${at(1)}?with=mandates`)).body).toMatchObject({
      mandates: [{ code: 'x' }],
    })
  })

  it('soft-deletes, restores, and locks by version', async () => {
    const accounts = app.get(Database).records(Account)
    const key = { bank: 'A,1', number: 1 }
    expect((await send('ann', 'DELETE', at(1))).status).toBe(204)
    expect((await send('ann', 'GET', at(1))).status).toBe(404)
    expect(await accounts.restore(key)).toMatchObject(key)
    const gone = await app.get(Database).records(Payment).create({ text: 'x' })
    await accounts.delete({ bank: 'A,1', number: 2 })
    await expect(
      app.get(Database).records(Payment).update(gone.id, { accountBank: 'A,1', accountNumber: 2 }),
    ).rejects.toMatchObject({ status: 409 })
    await app
      .get(Database)
      .records(Payment)
      .update(gone.id, { accountBank: 'A,1', accountNumber: 1 })
    await expect(
      app.get(Database).records(Payment).update(gone.id, { accountNumber: 2 }),
    ).rejects.toMatchObject({ status: 409 })
    await expect(
      app.get(Database).records(Payment).updateWhere({ id: gone.id }, { accountNumber: 2 }),
    ).rejects.toMatchObject({ status: 409 })
    expect(await accounts.restore({ bank: 'A,1', number: 2 })).not.toBeNull()
    const { version } = (await accounts.find(key)) as Account & { version: number }
    await expect(
      accounts.update(key, { note: 'x' }, { expectedVersion: version + 1 }),
    ).rejects.toMatchObject({ status: 409 })
    await accounts.update(key, { note: 'x' }, { expectedVersion: version })
    await expect(accounts.delete(key, { expectedVersion: version })).rejects.toMatchObject({
      status: 409,
    })
  })
})
