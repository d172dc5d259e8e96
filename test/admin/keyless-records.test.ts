/** The admin page of records without a key: they are listed only. Source: decisions, Existing databases and copy. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  Database,
  Field,
  HasMany,
  Module,
  Record as Row,
  Secured,
  type Rel,
} from 'filigree'
import { Admin, admin, AdminAction } from 'filigree/admin'
import { testApplication, type TestApplication } from 'filigree/testing'
import { expandSchema, type CompactSchema, type RecordInfo } from '../../client/admin/schema.js'
import type { Class } from '../public-types.js'
import { startBothEngines } from '../records/both-engines.js'
import { runSql } from '../records/run-sql.js'
import { OpenLogin } from './open-login.js'

@Row()
@Admin()
class Seller {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Sale) sales!: Rel<Sale[]>
}

@Row({ key: false })
@Admin({ group: 'Reports' })
class Sale {
  @Field('date') day!: string
  @Field('integer') amount!: number
  @Field('integer') sellerId!: number
  @Field('json', { nullable: true, optional: true }) details?: object | null
  @BelongsTo(() => Seller) seller!: Rel<Seller>
}

@Secured({ roles: ['owner'] })
@Row({ key: false })
@Admin()
class Salary {
  @Field('integer') amount!: number
}

const records = [Seller, Sale, Salary]
const pageOf = (of: Class[]) =>
  admin({ path: '/admin', roles: 'clerk', records: of, login: { path: '/login' } })

@Module({ controllers: [OpenLogin], records, imports: [pageOf(records)] })
class Page {}

describe.each(await startBothEngines())('records without a key on %s', (_name, open) => {
  let app: TestApplication
  let sale: RecordInfo
  const clerk = () => app.as({ sub: 'ann', roles: ['clerk'] })
  const numberOfRows = 1203

  beforeAll(async () => {
    app = await testApplication(Page, { auth: { cookie: true }, database: await open() })
    const database = app.get(Database)
    await database.records(Seller).create({ name: 'Ada' })
    const values = Array.from(
      { length: numberOfRows },
      (_, index) => `('2026-11-${String(1 + (index % 28)).padStart(2, '0')}', ${index}, 1)`,
    )
    await runSql(database, `insert into sale (day, amount, seller_id) values ${values.join()}`)
    const { body } = await clerk().get('/admin/api/schema')
    const schema = expandSchema(body as CompactSchema)
    sale = schema.records.find(({ name }) => name === 'Sale')!
    expect(schema.records.map(({ name }) => name)).toEqual(['Seller', 'Sale'])
  })
  afterAll(() => app.close())

  it('are described without a key, rights to write, a history or actions', () => {
    const absent = ['key', 'keyKind', 'keyFields', 'can', 'history', 'bin', 'actions', 'version']
    expect(absent.filter((name) => name in sale)).toEqual([])
    expect(sale).toMatchObject({ path: 'sales', title: 'day', list: ['day', 'amount', 'seller'] })
  })

  it('are filtered, sorted and listed in pages', async () => {
    const first = await clerk().get('/admin/api/rows/sales?sellerId=1&orderBy=-amount&limit=2')
    expect(first.body).toMatchObject([{ amount: 1202 }, { amount: 1201 }])
    expect(first.headers['x-total-count']).toBe(String(numberOfRows))
    const next = /<([^>]*)>/.exec(String(first.headers.link))![1]!
    expect((await clerk().get(next)).body).toMatchObject([{ amount: 1200 }, { amount: 1199 }])
    const fourth = await clerk().get('/admin/api/rows/sales?orderBy=amount&limit=1&offset=3')
    expect(fourth.body).toMatchObject([{ amount: 3 }])
    const sum = await clerk().get('/admin/api/rows/sales/aggregate?sum=amount&amount.lt=3')
    expect(sum.body).toEqual([{ sumAmount: 3 }])
  })

  it('are exported, each row once', async () => {
    const { text } = await clerk().get('/admin/api/csv/sales?fields=amount')
    const [heading, ...rows] = text.trim().split('\r\n')
    expect(heading).toContain('amount')
    expect(new Set(rows).size).toBe(numberOfRows)
    const { text: some } = await clerk().get('/admin/api/csv/sales?amount.lt=3&orderBy=-amount')
    expect(some.trim().split('\r\n')).toHaveLength(4)
  })

  it('have no pages of rows, and no way to change them', async () => {
    const key = encodeURIComponent('[]')
    const answers = [
      await clerk().get('/admin/api/rows/sales/1'),
      await clerk().post('/admin/api/rows/sales', { day: '2026-11-29', amount: 1, sellerId: 1 }),
      await clerk().patch('/admin/api/rows/sales/1', { amount: 1 }),
      await clerk().delete('/admin/api/rows/sales/1'),
      await clerk().post(`/admin/api/save/sales/${key}`, { was: {}, values: { amount: 1 } }),
      await clerk().post(`/admin/api/remove/sales/${key}`, { was: {} }),
      await clerk().post('/admin/api/bulk/sales', { ids: ['[]'], values: { amount: 1 } }),
      await clerk().post('/admin/api/bulk/sales', { ids: ['[]'], remove: true }),
      await clerk().post('/admin/api/actions/sales/close', { ids: ['[]'] }),
      await clerk().get(`/admin/api/history/sales/${key}`),
      await clerk().get('/admin/api/bin/sales'),
      await clerk().post('/admin/api/bin/sales', { ids: ['[]'] }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([
      ...[404, 405, 405, 405, 404, 404, 404, 404, 404, 404, 404, 404],
    ])
    const csv = await clerk().post('/admin/api/csv/sales', 'amount\n1\n', {
      headers: { 'content-type': 'text/csv' },
    })
    expect(csv.status).toBe(403)
  })

  it('are not found by their titles', async () => {
    const { body } = await clerk().get('/admin/api/jump?text=2026')
    expect(body).toEqual([])
  })

  it('need the rights of the record', async () => {
    expect((await clerk().get('/admin/api/rows/salaries')).status).toBe(403)
    expect((await clerk().get('/admin/api/csv/salaries')).status).toBe(403)
    const owner = app.as({ sub: 'bob', roles: ['clerk', 'owner'] })
    expect((await owner.get('/admin/api/rows/salaries')).body).toEqual([])
    expect((await app.anonymous.get('/admin/api/rows/sales')).status).toBe(401)
  })
})

describe('the start', () => {
  const startWith = (type: Class, imports = [pageOf([type])]) => {
    @Module({ controllers: [OpenLogin], records: [type], imports })
    class Wrong {}
    return testApplication(Wrong)
  }

  it('refuses what needs a key', async () => {
    @Row({ key: false })
    @Admin({ history: true })
    class Logged {
      @Field('string') name!: string
    }
    await expect(startWith(Logged)).rejects.toThrow(
      '@Admin of Logged: history is set, but Logged has no key.',
    )
    @Row({ key: false })
    @Admin()
    class Acting {
      @Field('string') name!: string
      @AdminAction({ label: 'Rename' })
      rename(): void {
        this.name = ''
      }
    }
    await expect(startWith(Acting)).rejects.toThrow(
      '@AdminAction of Acting.rename: an action runs for rows, but Acting has no key.',
    )
    const page = { path: '/admin', roles: 'clerk', records: [Salary], login: { path: '/login' } }
    const withPeople = admin({ ...page, people: [Salary, 'amount'] })
    await expect(startWith(Salary, [withPeople])).rejects.toThrow(
      'admin: people is Salary, which has no key.',
    )
  })
})
