import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  connect,
  type Database,
  Field,
  type Generated,
  HasMany,
  Record,
  type Rel,
  type Repository,
  type Row,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import { composites, Parcel, Sale, SaleLine, Tag } from './composite-records.js'

const engines = await startBothEngines()

describe.each(engines)('a key of two fields on %s', (_name, open) => {
  let database: Database
  let sales: Repository<Sale>
  let lines: Repository<SaleLine>
  let parcels: Repository<Parcel>
  let tags: Repository<Tag>

  beforeAll(async () => {
    database = await connect(await open(), { records: composites })
    await database.sync()
    sales = database.records(Sale)
    lines = database.records(SaleLine)
    parcels = database.records(Parcel)
    tags = database.records(Tag)
  })

  afterAll(() => database.close())

  async function saleWithLines(...products: string[]): Promise<number> {
    const { id } = await sales.create({ customer: 'Ada' })
    for (const [index, product] of products.entries())
      await lines.create({ saleId: id, line: index + 1, product })
    return id
  }

  it('finds, changes and deletes a row', async () => {
    const saleId = await saleWithLines('pen', 'ink')
    expect(await lines.find({ saleId, line: 2 })).toMatchObject({ saleId, line: 2, product: 'ink' })
    expect(await lines.find({ saleId, line: 3 })).toBeNull()
    expect(await lines.find(`[${saleId},1]`)).toMatchObject({ product: 'pen' })
    expect(await lines.update({ saleId, line: 2 }, { amount: 5 })).toMatchObject({ amount: 5 })
    expect(await lines.update({ saleId, line: 2 }, { amount: { add: 2 } })).toMatchObject({
      amount: 7,
    })
    expect(await lines.update({ saleId, line: 9 }, { amount: 5 })).toBeNull()
    expect(await lines.delete({ saleId, line: 2 })).toBe(true)
    expect(await lines.delete({ saleId, line: 2 })).toBe(false)
    expect(await lines.count({ saleId })).toBe(1)
  })

  it('names the part that is missing or wrong', async () => {
    await expect(lines.find({ saleId: 1 })).rejects.toThrow('line must be given')
    await expect(lines.find({ saleId: 1, line: 'x' as never })).rejects.toThrow(
      'line must be an integer',
    )
    await expect(lines.find(7)).rejects.toThrow('the key must be an object with saleId, line')
    expect(await lines.find('7')).toBeNull()
  })

  it('does not change a part of a key', async () => {
    const saleId = await saleWithLines('pen')
    const key = { saleId, line: 1 }
    expect(await lines.update(key, { ...key, product: 'nib' })).toMatchObject({ product: 'nib' })
    await expect(lines.update(key, { line: 2 })).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'line', code: 'readOnly' }],
    })
    await expect(lines.updateWhere({ saleId }, { line: 2 })).rejects.toThrow('cannot be changed')
  })

  it('refuses a second row with the same key, and a reference to no row', async () => {
    const saleId = await saleWithLines('pen')
    await expect(lines.create({ saleId, line: 1, product: 'x' })).rejects.toMatchObject({
      status: 409,
      errors: [{ path: 'saleId' }, { path: 'line' }],
    })
    await expect(parcels.create({ weight: '1', saleId, line: 7 })).rejects.toMatchObject({
      status: 409,
      errors: [
        { path: 'saleId', code: 'reference' },
        { path: 'line', code: 'reference' },
      ],
    })
    expect(await parcels.create({ weight: '1', saleId, line: null })).toMatchObject({ line: null })
  })

  it('writes many rows', async () => {
    const saleId = await saleWithLines()
    const created = await lines.createMany([
      { saleId, line: 2, product: 'b' },
      { saleId, line: 1, product: 'a' },
      { saleId, line: 3, product: 'c' },
    ])
    expect(created.map(({ product }) => product)).toEqual(['b', 'a', 'c'])
    const updated = await lines.updateMany([
      { saleId, line: 3, amount: 30 },
      { saleId, line: 1, amount: 10 },
    ])
    expect(updated.map(({ line, amount }) => [line, amount])).toEqual([
      [3, 30],
      [1, 10],
    ])
    await expect(
      lines.updateMany([
        { saleId, line: 3, amount: 31 },
        { saleId, line: 8, amount: 11 },
      ]),
    ).rejects.toMatchObject({ status: 404 })
    expect(
      await lines.deleteMany([
        { saleId, line: 2 },
        { saleId, line: 9 },
      ]),
    ).toBe(1)
    const more = Array.from({ length: 500 }, (_, index) => ({
      saleId,
      line: 100 + index,
      product: `p${index}`,
    }))
    expect(await lines.insertMany(more)).toBe(500)
    expect(await lines.updateWhere({ saleId, line: { gte: 100 } }, { amount: 2 })).toBe(500)
    expect(await lines.deleteWhere({ saleId, line: { gte: 100 } })).toBe(500)
    expect((await lines.list({ where: { saleId } })).map(({ line }) => line)).toEqual([1, 3])
  })

  it('upserts by the parts of the key', async () => {
    const saleId = await saleWithLines('pen')
    const by = ['saleId', 'line'] as const
    await lines.upsert({ saleId, line: 1, product: 'ink' }, { by })
    await lines.upsert({ saleId, line: 2, product: 'nib' }, { by })
    const found = await lines.list({ where: { saleId } })
    expect(found.map(({ product }) => product)).toEqual(['ink', 'nib'])
  })

  it('lists in pages, each row once', async () => {
    const saleId = await saleWithLines('a', 'b', 'a', 'b', 'a')
    const seen: number[] = []
    let after: string | undefined
    for (;;) {
      const page: Row<SaleLine>[] = await lines.list({
        where: { saleId },
        orderBy: '-product',
        limit: 2,
        ...(after !== undefined && { after }),
      })
      seen.push(...page.map(({ line }) => line))
      const last = page.at(-1)
      if (page.length < 2 || last === undefined) break
      after = lines.cursorOf(last, '-product')
    }
    expect(seen).toEqual([2, 4, 1, 3, 5])
  })

  it('locks a row', async () => {
    const saleId = await saleWithLines('pen')
    await database.transaction(async () => {
      expect(await lines.find({ saleId, line: 1 }, { lock: true })).toMatchObject({ line: 1 })
    })
  })

  it('loads relations to and from it', async () => {
    const saleId = await saleWithLines('pen', 'ink')
    await parcels.createMany([
      { weight: '1', saleId, line: 1 },
      { weight: '2', saleId, line: 1 },
      { weight: '3', saleId, line: 2 },
      { weight: '4', saleId, line: null },
    ])
    const [sale] = await sales.list({
      where: { id: saleId },
      with: ['lines.parcels.saleLine'],
      counts: ['lines'],
    })
    expect(sale?.linesCount).toBe(2)
    expect(
      sale?.lines.map(({ product, parcels: own }) => [product, own.map(({ weight }) => weight)]),
    ).toEqual([
      ['pen', ['1', '2']],
      ['ink', ['3']],
    ])
    expect(sale?.lines[0]?.parcels[0]?.saleLine).toMatchObject({ product: 'pen' })
    const loose = await parcels.list({ where: { saleId, line: null }, with: ['saleLine'] })
    expect(loose[0]?.saleLine).toBeNull()
    const heavy = await lines.list({ where: { parcels: { weight: '2' } }, counts: ['parcels'] })
    expect(heavy.map(({ line, parcelsCount }) => [line, parcelsCount])).toEqual([[1, 2]])
    const byLine = await parcels.list({
      where: { saleLine: { product: 'ink', saleId } },
      orderBy: { saleLine: { product: 'asc' } },
    })
    expect(byLine.map(({ weight }) => weight)).toEqual(['3'])
    expect(await parcels.count({ not: { saleLine: { saleId } }, saleId })).toBe(1)
  })

  it('links rows by a join table', async () => {
    const saleId = await saleWithLines('pen', 'ink')
    const code = '9007199254740993'
    await tags.upsert({ country: 'DE', code, name: 'new' }, { by: ['country', 'code'] })
    await tags.upsert({ country: 'de', code, name: 'old' }, { by: ['country', 'code'] })
    const key = { saleId, line: 1 }
    const link = [{ country: 'DE', code }]
    expect(await lines.link(key, 'tags', link)).toBe(1)
    expect(await lines.link(key, 'tags', link)).toBe(0)
    const found = await lines.find(key, { with: ['tags'] })
    expect(found?.tags).toMatchObject([{ name: 'new', code }])
    const tagged = await tags.find({ country: 'DE', code }, { with: ['saleLines'] })
    expect(tagged?.saleLines.map(({ line }) => line)).toContain(1)
    expect(await lines.count({ tags: { name: 'new' }, saleId })).toBe(1)
    expect(await lines.unlink(key, 'tags', link)).toBe(1)
  })

  it('writes nested rows', async () => {
    const sale = await sales.create({
      customer: 'Eve',
      lines: {
        create: [
          { line: 1, product: 'pen', parcels: { create: [{ weight: '1' }] } },
          { line: 2, product: 'ink' },
        ],
      },
    })
    const saleId = sale.id
    const [first] = await parcels.list({ where: { saleId } })
    expect(first).toMatchObject({ line: 1 })
    await lines.update({ saleId, line: 2 }, {
      parcels: { connect: [first?.id], create: [{ weight: '2' }] },
    } as never)
    expect(await parcels.count({ saleId, line: 2 })).toBe(2)
    await parcels.update(first?.id ?? 0, {
      saleLine: { connect: { saleId, line: 1 } },
    })
    expect(await parcels.find(first?.id ?? 0)).toMatchObject({ line: 1 })
    await parcels.update(first?.id ?? 0, { saleLine: { disconnect: true } })
    expect(await parcels.find(first?.id ?? 0)).toMatchObject({ saleId: null, line: null })
    await sales.update(saleId, {
      lines: {
        update: [{ saleId, line: 1, product: 'nib' }],
        delete: [{ saleId, line: 2 }],
      },
    })
    const rest = await lines.list({ where: { saleId } })
    expect(rest.map(({ product }) => product)).toEqual(['nib'])
    const sets = { tags: { create: [{ country: 'FR', code: '1', name: 'x' }] } }
    await lines.update({ saleId, line: 1 }, sets)
    await lines.update({ saleId, line: 1 }, { tagsIds: [] } as never).catch(() => undefined)
    expect(await tags.find({ country: 'FR', code: '1' })).not.toBeNull()
  })

  it('deletes a row with the rows that depend on it', async () => {
    const saleId = await saleWithLines('pen', 'ink')
    const parcel = await parcels.create({ weight: '1', saleId, line: 2 })
    expect(await sales.delete(saleId)).toBe(true)
    expect(await lines.count({ saleId })).toBe(0)
    expect(await parcels.find(parcel.id)).toMatchObject({ saleId: null, line: null })
  })
})

@Record({ table: 'cart' })
class Cart {
  @Field('id', { key: 'uuid' }) id!: Generated<string>
  @HasMany(() => CartItem) items!: Rel<CartItem[]>
}

@Record({ table: 'cart_item', key: ['cartId', 'code'] })
class CartItem {
  @Field('string') cartId!: string
  @Field('string') code!: string
  @Field('integer', { default: 1 }) amount!: Generated<number>
  @BelongsTo(() => Cart) cart!: Rel<Cart>
}

describe.each(engines)('a part that refers to a UUID on %s', (_name, open) => {
  let database: Database
  beforeAll(async () => {
    database = await connect(await open(), { records: [Cart, CartItem] })
    await database.sync()
  })
  afterAll(() => database.close())

  it('is found in upper and lower case, and no other text is', async () => {
    const items = database.records(CartItem)
    const { id } = await database.records(Cart).create({})
    await items.create({ cartId: id, code: 'A' })
    expect(await items.find({ cartId: id.toUpperCase(), code: 'A' })).toMatchObject({ cartId: id })
    expect(await items.find({ cartId: id, code: 'a' })).toBeNull()
    expect(await items.find('["nope","A"]')).toBeNull()
    await expect(items.find({ cartId: 'nope', code: 'A' })).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'cartId' }],
    })
    await expect(items.create({ cartId: 'nope', code: 'A' })).rejects.toMatchObject({ status: 409 })
    const cart = await database.records(Cart).find(id, { with: ['items.cart'] })
    expect(cart?.items).toMatchObject([{ code: 'A', cart: { id } }])
    expect(await items.update({ cartId: id, code: 'A' }, { amount: 2 })).toMatchObject({
      amount: 2,
    })
    expect(await items.delete({ cartId: id, code: 'A' })).toBe(true)
  })
})
