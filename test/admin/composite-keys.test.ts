/** The admin page of records with keys of several fields. Source: decisions, Existing databases and copy. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  Database,
  Field,
  HasMany,
  ManyToMany,
  Module,
  Record as Row,
  type Rel,
} from 'filigree'
import { Admin, admin, AdminAction } from 'filigree/admin'
import { testApplication, type TestApplication } from 'filigree/testing'
import {
  backConditions,
  expandSchema,
  foreignKeyOf,
  keyInput,
  keyOf,
  keyPath,
  titleOf,
  type CompactSchema,
  type RecordInfo,
} from '../../client/admin/schema.js'
import { startBothEngines } from '../records/both-engines.js'
import { OpenLogin } from './open-login.js'

@Row()
@Admin()
class Order {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => OrderLine) lines!: Rel<OrderLine[]>
}

@Row({ key: ['orderId', 'line'] })
@Admin({ history: true })
class OrderLine {
  @Field('integer') orderId!: number
  @Field('integer') line!: number
  @Field('string') product!: string
  @BelongsTo(() => Order, { onDelete: 'cascade' }) order!: Rel<Order>
  @HasMany(() => Parcel) parcels!: Rel<Parcel[]>
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>

  @AdminAction({ label: 'Rename', bulk: true })
  rename(): void {
    this.product = `${this.product}!`
  }
}

@Row()
@Admin()
class Parcel {
  @Field('id') id!: number
  @Field('string') weight!: string
  @Field('integer', { nullable: true, optional: true }) orderId?: number | null
  @Field('integer', { nullable: true, optional: true }) line?: number | null
  @BelongsTo(() => OrderLine, { onDelete: 'setNull' }) orderLine!: Rel<OrderLine> | null
}

@Row({ key: ['country', 'code'] })
@Admin({ title: 'name' })
class Tag {
  @Field('string') country!: string
  @Field('string') code!: string
  @Field('string') name!: string
}

const records = [Order, OrderLine, Parcel, Tag]

@Module({
  controllers: [OpenLogin],
  records,
  imports: [admin({ path: '/admin', roles: 'clerk', records, login: { path: '/login' } })],
})
class Page {}

describe.each(await startBothEngines())('keys of several fields on %s', (_name, open) => {
  let app: TestApplication
  let orderLine: RecordInfo
  let tag: RecordInfo
  const clerk = () => app.as({ sub: 'ann', roles: ['clerk'] })
  const key = (line: number): string => JSON.stringify([1, line])
  const at = (line: number): string => encodeURIComponent(key(line))

  beforeAll(async () => {
    app = await testApplication(Page, { auth: { cookie: true }, database: await open() })
    const database = app.get(Database)
    await database.records(Order).create({ name: 'Ada' })
    await database.records(Tag).create({ country: 'a,b', code: '/', name: 'new' })
    const { body } = await clerk().get('/admin/api/schema')
    const schema = expandSchema(body as CompactSchema)
    orderLine = schema.records.find(({ name }) => name === 'OrderLine')!
    tag = schema.records.find(({ name }) => name === 'Tag')!
  })
  afterAll(() => app.close())

  it('has the fields of the key, which never change', () => {
    expect(orderLine).toMatchObject({ keyKind: 'text', keyFields: ['orderId', 'line'] })
    const fixed = orderLine.fields.filter(({ immutable }) => immutable === true)
    expect(fixed.map(({ name }) => name)).toEqual(['orderId', 'line'])
  })

  it('names rows by the JSON list of the fields, and by their path', () => {
    const row = { orderId: 1, line: 2, product: 'pen' }
    expect(keyOf(orderLine, row)).toBe('[1,2]')
    expect(keyPath(orderLine, '[1,2]')).toBe('1,2')
    expect(keyPath(tag, '["a,b","/"]')).toBe('a%2Cb,%2F')
    expect(keyInput(tag, '["a,b","/"]')).toEqual({ country: 'a,b', code: '/' })
    expect(titleOf(orderLine, row)).toBe('Order line 1, 2')
    const parcels = orderLine.relations!.find(({ name }) => name === 'parcels')!
    expect(backConditions(orderLine, parcels, '[1,2]')).toEqual({ orderId: '1', line: '2' })
    expect(foreignKeyOf(parcels, orderLine, { orderId: 1, line: 2 })).toBe('[1,2]')
    expect(foreignKeyOf(parcels, orderLine, { orderId: 1, line: null })).toBeNull()
  })

  it('creates, reads, saves and removes rows', async () => {
    const create = (line: number, product: string) =>
      clerk().post('/admin/api/rows/orderLines', { orderId: 1, line, product })
    for (const [line, product] of [
      [1, 'pen'],
      [2, 'ink'],
      [3, 'nib'],
    ] as const)
      expect((await create(line, product)).status).toBe(201)
    const { body: read } = await clerk().get(
      `/admin/api/rows/orderLines/${keyPath(orderLine, key(2))}`,
    )
    expect(read).toMatchObject({ line: 2, product: 'ink' })
    const saved = await clerk().post(`/admin/api/save/orderLines/${at(2)}`, {
      was: { product: 'ink', tagIds: [] },
      values: { product: 'blue ink', tagIds: [keyInput(tag, '["a,b","/"]')] },
    })
    expect([saved.status, saved.body]).toEqual([
      200,
      expect.objectContaining({ product: 'blue ink' }),
    ])
    const stale = await clerk().post(`/admin/api/save/orderLines/${at(2)}`, {
      was: { product: 'blue ink', tagIds: [] },
      values: { product: 'ink' },
    })
    expect(stale.body).toMatchObject({ code: 'CHANGED', theirs: { tagIds: ['["a,b","/"]'] } })
    const fixed = await clerk().post(`/admin/api/save/orderLines/${at(2)}`, {
      was: {},
      values: { line: 9 },
    })
    expect(fixed.status).toBe(400)
    const row = { orderId: 1, line: 3, product: 'nib' }
    expect((await clerk().post(`/admin/api/remove/orderLines/${at(3)}`, { was: row })).status).toBe(
      204,
    )
    for (const wrong of ['7', '[1]', '[1,"x"]', '{"a":1}'])
      expect(
        (
          await clerk().post(`/admin/api/remove/orderLines/${encodeURIComponent(wrong)}`, {
            was: {},
          })
        ).status,
      ).toBe(404)
  })

  it('changes many rows, and runs actions', async () => {
    const bulk = await clerk().post('/admin/api/bulk/orderLines', {
      ids: [key(1), key(2)],
      values: { product: 'x' },
    })
    expect(bulk.body).toEqual({ count: 2 })
    const run = await clerk().post('/admin/api/actions/orderLines/rename', { ids: [key(1)] })
    expect(run.body).toEqual({ count: 1 })
    const { body } = await clerk().get('/admin/api/rows/orderLines?orderBy=line')
    expect(body).toMatchObject([{ product: 'x!' }, { product: 'x' }])
  })

  it('has the history of a row and of all rows', async () => {
    const { body: one } = await clerk().get(`/admin/api/history/orderLines/${at(1)}`)
    const entries = (one as { rows: { row: string; kind: string; changes: object[] }[] }).rows
    expect(entries.map(({ row, kind }) => [row, kind])).toContainEqual(['[1,1]', 'create'])
    expect(entries.at(-1)?.changes).toEqual([{ field: 'product', from: null, to: 'pen' }])
    const { body: all } = await clerk().get('/admin/api/history/orderLines')
    const rows = new Set((all as { rows: { row: string }[] }).rows.map(({ row }) => row))
    expect(rows).toEqual(new Set(['[1,1]', '[1,2]', '[1,3]']))
  })

  it('finds rows by their titles, and exports them', async () => {
    const { body: found } = await clerk().get('/admin/api/jump?text=new')
    expect(found).toEqual([{ record: 'tags', key: '["a,b","/"]', title: 'new' }])
    const { text } = await clerk().get('/admin/api/csv/orderLines')
    expect(text).toContain('x!')
    expect(text.split('\r\n')[0]).toContain('orderId')
  })
})
