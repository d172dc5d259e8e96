/** The rows of one call may refer to each other, in any order. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  AfterWrite,
  BelongsTo,
  bootstrap,
  Database,
  Field,
  HasMany,
  Module,
  NoAuth,
  Record as Table,
  type Application,
  type Rel,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'

const optionalKey = { optional: true, nullable: true } as const

/** The values of a new row. */
interface Values {
  readonly id: number
  readonly parentId?: number | null
}

abstract class Part {
  @Field('id') id!: number
  @Field('integer', optionalKey) parentId?: number | null
}

@NoAuth
@Table({ plural: 'plains' })
class Plain extends Part {
  @BelongsTo(() => Plain, { by: 'parentId' }) parent!: Rel<Plain>
}

@NoAuth
@Table({ softDelete: true, version: true, plural: 'softs' })
class Soft extends Part {
  @BelongsTo(() => Soft, { by: 'parentId' }) parent!: Rel<Soft>
  @Field('integer', optionalKey) boxId?: number | null
  @BelongsTo(() => Box) box!: Rel<Box>
}

@NoAuth
@Table({ softDelete: true, plural: 'hookeds' })
class Hooked extends Part {
  @BelongsTo(() => Hooked, { by: 'parentId' }) parent!: Rel<Hooked>
  @AfterWrite() wrote() {
    written.push(this.id)
  }
}

/** The keys in the order in which the hooks of `Hooked` ran. */
const written: number[] = []

@NoAuth
@Table({ plural: 'boxes' })
class Box {
  @Field('id') id!: number
  @HasMany(() => Soft) softs!: Rel<Soft[]>
}

@Module({ records: [Plain, Soft, Hooked, Box] })
class PartModule {}

const engines = await startBothEngines()

describe.each(engines)('rows of one call: %s', (_name, address) => {
  let app: Application
  let database: Database
  beforeAll(async () => {
    app = await bootstrap(PartModule, { port: 0, logger: false, database: await address() })
    database = app.get(Database)
  })
  afterAll(() => app.close())
  beforeEach(async () => {
    written.length = 0
    for (const record of [Plain, Soft, Hooked])
      await database.records<Part>(record).updateWhere({}, { parentId: null })
    for (const record of [Plain, Soft, Hooked]) await database.records<Part>(record).deleteWhere({})
  })

  let next = 1
  /** Keys that no other test uses. */
  const newIds = (count: number): number[] => Array.from({ length: count }, () => next++)

  const refused = { status: 409, code: 'CONFLICT' }

  describe.each([Plain, Soft, Hooked])('of %p', (record) => {
    const records = () => database.records<Part>(record)
    const stored = async (ids: number[]) =>
      (await records().list({ where: { id: { in: ids } }, orderBy: { id: 'asc' } })).map(
        ({ parentId }) => parentId ?? null,
      )
    const streamed = async function* (rows: Values[]) {
      for (const row of rows) yield await Promise.resolve(row)
    }

    it.each<[string, (rows: Values[]) => Promise<unknown>]>([
      ['insertMany', (rows) => records().insertMany(rows)],
      ['createMany', (rows) => records().createMany(rows)],
    ])('%s takes a parent before or after its child, and circles', async (_method, write) => {
      const [a = 0, b = 0] = newIds(2)
      await write([{ id: a }, { id: b, parentId: a }])
      expect(await stored([a, b])).toEqual([null, a])
      const [c = 0, d = 0, e = 0] = newIds(3)
      await write([{ id: e, parentId: d }, { id: d, parentId: c }, { id: c }])
      expect(await stored([c, d, e])).toEqual([null, c, d])
      const [f = 0, g = 0, h = 0] = newIds(3)
      await write([
        { id: f, parentId: g },
        { id: g, parentId: f },
        { id: h, parentId: h },
      ])
      expect(await stored([f, g, h])).toEqual([g, f, h])
    })

    it('createMany returns the rows in their order, as they are stored', async () => {
      const [a = 0, b = 0, c = 0] = newIds(3)
      const rows = [
        { id: a, parentId: c },
        { id: b, parentId: a },
        { id: c, parentId: b },
      ]
      expect(await records().createMany(rows)).toMatchObject(rows)
    })

    it('a reference to a missing row is refused, and nothing is stored', async () => {
      const [a = 0, b = 0] = newIds(2)
      const rows = [
        { id: a, parentId: 999_999 },
        { id: b, parentId: a },
      ]
      await expect(records().insertMany(rows)).rejects.toMatchObject(refused)
      await expect(records().createMany(rows)).rejects.toMatchObject(refused)
      expect(await stored([a, b])).toEqual([])
    })

    it('insertMany accepts references across its pieces', async () => {
      const ids = newIds(3000)
      const rows = ids.map((id, index) => ({ id, parentId: ids[index + 1] ?? null }))
      expect(await records().insertMany(rows)).toBe(3000)
      expect(await stored(ids)).toEqual([...ids.slice(1), null])
    })

    it('a stream accepts references to earlier rows', async () => {
      const ids = newIds(3000)
      const rows = ids.map((id, index) => ({ id, parentId: ids[index - 1] ?? null }))
      expect(await records().insertMany(streamed(rows))).toBe(3000)
      expect(await stored(ids)).toEqual([null, ...ids.slice(0, -1)])
    })
  })

  it.each([Plain, Soft])('a stream of %p accepts references to later rows', async (record) => {
    const records = database.records<Part>(record)
    const ids = newIds(3000)
    const rows = async function* () {
      for (const [index, id] of ids.entries())
        yield await Promise.resolve({ id, parentId: ids[index + 1] ?? null })
    }
    expect(await records.insertMany(rows())).toBe(3000)
    const [last] = await records.list({ where: { parentId: null, id: { in: ids } } })
    expect(last?.id).toBe(ids.at(-1))
  })

  it('hooks run for a row after those of the rows that it refers to', async () => {
    const [a = 0, b = 0, c = 0] = newIds(3)
    await database
      .records(Hooked)
      .createMany([{ id: c, parentId: b }, { id: b, parentId: a }, { id: a }])
    expect(written).toEqual([a, b, c])
  })

  it('a reference to a soft-deleted row is refused', async () => {
    const [a = 0, b = 0] = newIds(2)
    await database.records(Soft).create({ id: a })
    await database.records(Soft).delete(a)
    await expect(database.records(Soft).insertMany([{ id: b, parentId: a }])).rejects.toMatchObject(
      refused,
    )
  })

  it('nested rows may refer to each other', async () => {
    const [a = 0, b = 0] = newIds(2)
    const box = await database
      .records(Box)
      .create({ softs: { create: [{ id: b, parentId: a }, { id: a }] } })
    expect(await database.records(Soft).find(b)).toMatchObject({ parentId: a, boxId: box.id })
  })
})
