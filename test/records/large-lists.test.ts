/** Lists of large tables have the rows of lists of small ones, whichever way the statement reads them. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { connect, Field, Record, type Database, type Generated } from 'filigree'
import { TableSizes } from '../../src/records/budget/table-sizes.js'

@Record({ search: ['title'], softDelete: true })
class Letter {
  @Field('id') id!: number
  @Field('string', { index: true }) title!: string
  @Field('string', { oneOf: ['open', 'closed'], index: true }) status!: string
  @Field('integer', { index: true }) priority!: number
  @Field('date', { nullable: true, index: true }) due!: string | null
  @Field('datetime', { index: true }) sentAt!: string
  @Field('integer') weight!: number
}

@Record({ search: ['title'] })
class Parcel {
  @Field('id', { key: 'uuid' }) id!: Generated<string>
  @Field('string') title!: string
  @Field('integer', { index: true }) priority!: number
}

const count = 14_000
const day = 86_400_000

function* letters(): Generator<object> {
  for (let index = 0; index < count; index++) {
    const mixed = (index * 7919) % count
    yield {
      title: `${mixed < 7000 ? 'early' : 'late'} ${mixed} ${mixed % 700 === 0 ? 'rare' : 'common'}`,
      status: index % 3 === 0 ? 'open' : 'closed',
      priority: mixed % 1000,
      due: index % 4 === 0 ? null : new Date(mixed * day).toISOString().slice(0, 10),
      sentAt: new Date(1.6e12 + mixed * 60_000).toISOString(),
      weight: index % 7,
    }
  }
}

const filters: [string, object][] = [
  ['a common word', { search: 'common' }],
  ['a word of the second half', { search: 'late' }],
  ['a rare word', { search: 'rare' }],
  ['no word', { search: 'nothing' }],
  ['a word and a value', { search: 'early', where: { status: 'open' } }],
  ['two words in a filter', { where: { and: [{ search: 'late' }, { search: 'common' }] } }],
  ['a common value', { where: { status: 'closed' } }],
  ['a prefix', { where: { title: { startsWith: 'late' } } }],
  ['a rare prefix', { where: { title: { startsWith: 'late 77' } } }],
  ['a range', { where: { due: { between: ['1980-01-01', '2000-01-01'] } } }],
  ['times', { where: { sentAt: { lt: new Date(1.6e12 + 9000 * 60_000).toISOString() } } }],
  ['null', { where: { due: { isNull: true }, status: 'closed' } }],
  ['a value or another', { where: { or: [{ status: 'open' }, { weight: 3 }] } }],
  ['a value and its own order', { where: { priority: { gt: 500 }, status: 'closed' } }],
]
const orders = ['priority', '-priority', 'due', '-due', '-sentAt', '-title', '-id', 'status']

describe('a list of a large table', () => {
  let database: Database
  beforeAll(async () => {
    database = await connect('sqlite::memory:', { records: [Letter, Parcel] })
    await database.sync()
    await database.records(Letter).insertMany(letters() as Iterable<never>)
    await database.records(Letter).updateWhere({ id: { lte: 20 } }, { weight: 9 })
    await database.records(Letter).deleteWhere({ weight: 9 })
    const parcels = Array.from({ length: 7000 }, (_, index) => ({
      title: index % 900 === 0 ? 'rare' : 'common',
      priority: index % 50,
    }))
    await database.records(Parcel).insertMany(parcels)
  })
  afterAll(() => database.close())
  afterEach(() => {
    jest.restoreAllMocks()
  })

  /** Reads three pages by cursor, and one by offset. */
  async function readPages(
    record: typeof Letter | typeof Parcel,
    options: object,
    rows: number,
  ): Promise<unknown[]> {
    jest.spyOn(TableSizes.prototype, 'rowsOf').mockReturnValue(rows)
    const repository = database.records(record as typeof Letter)
    const { orderBy } = options as { orderBy: never }
    const ids: unknown[] = []
    let after: string | undefined
    for (let page = 0; page < 3; page++) {
      const found = await repository.list({ ...options, limit: 30, ...(after && { after }) })
      ids.push(...found.map(({ id }) => id), '|')
      const last = found.at(-1)
      if (last === undefined) break
      after = repository.cursorOf(last, orderBy)
    }
    const jumped = await repository.list({ ...options, limit: 30, offset: 2500 })
    return [...ids, ...jumped.map(({ id }) => id)]
  }

  describe.each(filters)('with %s', (_name, filter) => {
    it.each(orders)('has the rows of a small table, ordered by %s', async (orderBy) => {
      const options = { ...filter, orderBy }
      const small = await readPages(Letter, options, 10)
      expect(await readPages(Letter, options, 1_000_000)).toEqual(small)
    })
  })

  it.each(['common', 'rare'])('with UUIDs and the word %s has them', async (search) => {
    const options = { search, orderBy: '-priority' }
    const small = await readPages(Parcel, options, 10)
    expect(await readPages(Parcel, options, 1_000_000)).toEqual(small)
  })

  it('includes deleted rows on request', async () => {
    const options = { search: 'common', orderBy: 'priority', withDeleted: true }
    const small = await readPages(Letter, options, 10)
    expect(await readPages(Letter, options, 1_000_000)).toEqual(small)
  })

  it('counts matches first only if no index serves filter and order', async () => {
    jest.spyOn(TableSizes.prototype, 'rowsOf').mockReturnValue(1_000_000)
    const repository = database.records(Letter)
    const countsFirst = async (options: object): Promise<boolean> => {
      const statements: string[] = []
      const listen = (message: unknown): void => {
        statements.push((message as { sql: string }).sql)
      }
      subscribe('filigree:statement', listen)
      await repository.list({ limit: 10, ...options })
      unsubscribe('filigree:statement', listen)
      return statements.some((sql) => sql.includes('filigree_few'))
    }
    expect(await countsFirst({ where: { status: 'open' }, orderBy: 'priority' })).toBe(true)
    expect(await countsFirst({ search: 'rare', orderBy: 'id' })).toBe(true)
    expect(await countsFirst({ search: 'rare' })).toBe(false)
    expect(await countsFirst({ where: { id: 5 }, orderBy: 'priority' })).toBe(false)
    expect(await countsFirst({ where: { status: 'open' } })).toBe(false)
    expect(await countsFirst({ where: { priority: 5 }, orderBy: 'priority' })).toBe(false)
    expect(await countsFirst({ where: { weight: 5 }, orderBy: 'priority' })).toBe(false)
    expect(await countsFirst({ where: { status: 'open' }, orderBy: 'weight' })).toBe(false)
    expect(await countsFirst({ orderBy: 'priority' })).toBe(false)
    jest.spyOn(TableSizes.prototype, 'rowsOf').mockReturnValue(1000)
    expect(await countsFirst({ where: { status: 'open' }, orderBy: 'priority' })).toBe(false)
  })
})
