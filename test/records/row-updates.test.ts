/** Updates that depend on the stored row: additions, conditions, versions, cross-field rules and hooks, on both engines. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  AfterCommit,
  BeforeWrite,
  connect,
  type Database,
  Field,
  type Generated,
  HttpError,
  Record,
  type WriteContext,
} from 'filigree'
import { startBothEngines } from './both-engines.js'
import { isAfter } from './is-after.js'

@Record({ version: true })
class Lamp {
  @Field('id') id!: number
  @Field('integer', { min: 0, max: 100 }) stock!: number
  @Field('decimal', { precision: 6, scale: 2 }) price!: string
  @Field('bigint') sold!: string
  @Field('boolean', { default: true }) active!: Generated<boolean>
  @Field('integer', { optional: true, nullable: true }) shelf?: number | null
  version!: number
}

@Record
class Stay {
  @Field('id') id!: number
  @Field('string') from!: string
  @isAfter
  @Field('string')
  until!: string
}

const hookCalls: unknown[] = []

@Record
class Page {
  @Field('id') id!: number
  @Field('string', { trim: true, collapse: true, maxLength: 10 }) title!: string
  @Field('string', { lowercase: true, trim: true, unique: true }) mail!: string
  @Field('string', { readOnly: true, maxLength: 8 }) slug!: Generated<string>

  @BeforeWrite()
  prepare({ before, caller }: WriteContext) {
    if (this.title === 'no') throw new HttpError(422, 'Not this one.')
    this.slug = this.title.toLowerCase()
    hookCalls.push([before === null ? 'created' : 'updated', caller])
  }

  @AfterCommit
  recordCommit() {
    hookCalls.push(`committed ${this.id} ${this.slug}`)
  }
}

const engines = await startBothEngines()

describe.each(engines)('row updates on %s', (_, open) => {
  let database: Database
  beforeAll(async () => {
    database = await connect(await open(), { records: [Lamp, Stay, Page] })
    await database.sync()
  })
  afterAll(() => database.close())
  beforeEach(async () => {
    for (const table of ['lamp', 'stay', 'page']) await database.kysely.deleteFrom(table).execute()
    hookCalls.length = 0
    await database
      .records(Lamp)
      .create({ id: 1, stock: 10, price: '9.50', sold: '9007199254740993' })
  })

  it('adds exactly, and only when the condition holds', async () => {
    const lamps = database.records(Lamp)
    const changes = { stock: { add: -1 }, price: { add: '0.1' }, sold: { add: '1' } }
    expect(await lamps.update(1, changes, { where: { stock: { gte: 10 } } })).toMatchObject({
      stock: 9,
      price: '9.60',
      sold: '9007199254740994',
    })
    expect(await lamps.update(1, changes, { where: { stock: { gte: 10 } } })).toBeNull()
    expect(await lamps.update(2, changes)).toBeNull()
    expect(await lamps.update(1, { shelf: 3 }, { where: { stock: 9 } })).toMatchObject({ shelf: 3 })
    expect(await lamps.update(1, { shelf: 4 }, { where: { stock: 8 } })).toBeNull()
    expect((await lamps.find(1))?.shelf).toBe(3)
  })

  it.each([
    [{ stock: { add: -11 } }, 'stock', 'min'],
    [{ stock: { add: 91 } }, 'stock', 'max'],
    [{ stock: { add: 0.5 } }, 'stock.add', 'type'],
    [{ price: { add: '9999.99' } }, 'price', 'type'],
    [{ price: { add: '0.001' } }, 'price.add', 'type'],
    [{ sold: { add: '9223372036854775807' } }, 'sold', 'type'],
    [{ shelf: { add: 1 } }, 'shelf', 'add'],
  ])('refuses %j and writes nothing', async (changes, path, code) => {
    const lamps = database.records(Lamp)
    await expect(lamps.update(1, changes as never)).rejects.toMatchObject({
      status: 400,
      errors: [{ path, code }],
    })
    await expect(lamps.updateWhere({}, changes as never)).rejects.toMatchObject({ status: 400 })
    expect(await lamps.find(1)).toMatchObject({ stock: 10, price: '9.50', version: 1 })
  })

  it('sells no more than the stock to a hundred concurrent buyers', async () => {
    const buy = () =>
      database.records(Lamp).update(1, { stock: { add: -1 } }, { where: { stock: { gte: 1 } } })
    const sold = await Promise.all(Array.from({ length: 100 }, buy))
    expect(sold.filter((lamp) => lamp !== null)).toHaveLength(10)
    expect(await database.records(Lamp).find(1)).toMatchObject({ stock: 0, version: 11 })
  })

  it('sells no more than the stock to a hundred buyers that check the version', async () => {
    const lamps = database.records(Lamp)
    const buy = async (): Promise<boolean> => {
      for (;;) {
        const lamp = await lamps.find(1)
        if (lamp === null || lamp.stock === 0) return false
        try {
          await lamps.update(1, { stock: lamp.stock - 1, version: lamp.version })
          return true
        } catch (error) {
          expect(error).toMatchObject({ status: 409, code: 'CONFLICT' })
        }
      }
    }
    const sold = await Promise.all(Array.from({ length: 100 }, buy))
    expect(sold.filter(Boolean)).toHaveLength(10)
  })

  it('increments versions and rejects an outdated one', async () => {
    const lamps = database.records(Lamp)
    expect(await lamps.find(1)).toMatchObject({ version: 1 })
    expect(await lamps.update(1, { stock: 5 })).toMatchObject({ version: 2 })
    expect(await lamps.update(1, { stock: 6 }, { expectedVersion: 2 })).toMatchObject({
      version: 3,
    })
    const old = { status: 409, code: 'CONFLICT' }
    await expect(lamps.update(1, { stock: 7, version: 2 })).rejects.toMatchObject(old)
    await expect(lamps.update(1, { stock: 7 }, { expectedVersion: 2 })).rejects.toMatchObject(old)
    await expect(lamps.delete(1, { expectedVersion: 2 })).rejects.toMatchObject(old)
    expect(await lamps.updateWhere({ id: 1 }, { stock: 1 })).toBe(1)
    expect(await lamps.find(1)).toMatchObject({ version: 4, stock: 1 })
    expect(await lamps.update(9, { stock: 1 }, { expectedVersion: 2 })).toBeNull()
    expect(await lamps.delete(1, { expectedVersion: 4 })).toBe(true)
    await expect(database.records(Stay).update(1, {}, { expectedVersion: 1 })).rejects.toThrow(
      'Stay has no versions.',
    )
  })

  it('updates and deletes all matching rows or none, and reports each', async () => {
    const lamps = database.records(Lamp)
    await lamps.insertMany(
      Array.from({ length: 1200 }, () => ({ stock: 50, price: '1.00', sold: '0' })),
    )
    expect(
      await lamps.updateWhere({ stock: 50 }, { price: { add: '1.25' }, stock: { add: 1 } }),
    ).toBe(1200)
    expect(await lamps.count({ price: '2.25', stock: 51 })).toBe(1200)
    await lamps.create({ stock: 90, price: '1.00', sold: '0' })
    await expect(
      lamps.updateWhere({ stock: { gte: 50 } }, { stock: { add: 20 } }),
    ).rejects.toMatchObject({ status: 400 })
    expect(await lamps.count({ stock: 51 })).toBe(1200)
    const events: string[] = []
    const end = database.onChange(({ event }) => events.push(event))
    expect(await lamps.updateWhere({ stock: 51 }, { active: false })).toBe(1200)
    expect(await lamps.deleteWhere({ active: false })).toBe(1200)
    end()
    expect(events.filter((event) => event === 'updated')).toHaveLength(1200)
    expect(events.filter((event) => event === 'deleted')).toHaveLength(1200)
    expect(await lamps.deleteWhere({})).toBe(2)
  })

  it('refuses undefined in a filter, and unknown options', async () => {
    const lamps = database.records(Lamp)
    const filters = [undefined, { stock: undefined }, { or: [{ stock: { gte: undefined } }] }]
    for (const where of filters) {
      const isUndefined = { code: 'DECLARATION', problems: [{ code: 'UNDEFINED_IN_FILTER' }] }
      const filter = where as never
      await expect(lamps.updateWhere(filter, { stock: 1 })).rejects.toMatchObject(isUndefined)
      await expect(lamps.deleteWhere(filter)).rejects.toMatchObject(isUndefined)
      await expect(lamps.update(1, {}, { where: filter })).rejects.toMatchObject(isUndefined)
    }
    await expect(lamps.update(1, {}, { lock: true } as never)).rejects.toThrow('unknown option')
    await expect(lamps.delete(1, { where: {} } as never)).rejects.toThrow('unknown option')
    expect(await lamps.count()).toBe(1)
  })

  it('checks cross-field rules against the updated row', async () => {
    const stays = database.records(Stay)
    const { id } = await stays.create({ from: 'b', until: 'd' })
    await expect(stays.create({ from: 'b', until: 'a' })).rejects.toMatchObject({ status: 400 })
    expect(await stays.update(id, { until: 'c' })).toMatchObject({ until: 'c' })
    const wrong = { status: 400, errors: [{ path: 'until', code: 'isAfter' }] }
    await expect(stays.update(id, { from: 'x' })).rejects.toMatchObject(wrong)
    await expect(stays.updateWhere({}, { from: 'x' })).rejects.toMatchObject(wrong)
    expect(await stays.update(id, { from: 'x', until: 'y' })).toMatchObject({ from: 'x' })
  })

  it('normalizes text before checking rules, and runs hooks', async () => {
    const pages = database.records(Page)
    const page = await pages.create({ title: '  A   B  ', mail: ' Ann@Example.org ' })
    expect(page).toMatchObject({ title: 'A B', mail: 'ann@example.org', slug: 'a b' })
    await expect(pages.create({ title: 'x', mail: 'ANN@example.org' })).rejects.toMatchObject({
      status: 409,
      errors: [{ path: 'mail', code: 'unique' }],
    })
    expect(hookCalls).toStrictEqual([
      ['created', null],
      `committed ${page.id} a b`,
      ['created', null],
    ])
    hookCalls.length = 0
    expect(await pages.update(page.id, { title: 'C' })).toMatchObject({ slug: 'c' })
    await expect(pages.update(page.id, { title: 'no' })).rejects.toMatchObject({ status: 422 })
    await expect(pages.update(page.id, { title: 'nine chars' })).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'slug', code: 'maxLength' }],
    })
    expect(hookCalls.filter((one) => typeof one === 'string')).toStrictEqual([
      `committed ${page.id} c`,
    ])
    expect(await pages.find(page.id)).toMatchObject({ title: 'C', slug: 'c' })
  })

  it('runs hooks for each of many rows, and commit hooks only after a commit', async () => {
    const pages = database.records(Page)
    const rows = [
      { title: 'A', mail: 'a' },
      { title: 'B', mail: 'b' },
    ]
    expect(await pages.insertMany(rows)).toBe(2)
    expect(hookCalls.filter((one) => typeof one === 'string')).toHaveLength(2)
    hookCalls.length = 0
    const work = database.transaction(async () => {
      await pages.updateWhere({}, { title: 'Z' })
      throw new Error('no')
    })
    await expect(work).rejects.toThrow('no')
    expect(hookCalls).toStrictEqual([
      ['updated', null],
      ['updated', null],
    ])
    expect(await pages.count({ slug: 'z' })).toBe(0)
  })
})
