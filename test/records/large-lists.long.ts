/** Lists of large tables have the rows of lists of small ones, whichever way the statement reads them. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { connect, Field, GraphQL, Record, type Database, type Generated } from 'filigree'
import { planStatement } from '../../src/records/scan-advice.js'
import { TableSizes } from '../../src/records/budget/table-sizes.js'
import { startBothEngines } from './both-engines.js'
import { engineOf, frameworkScript, internalsOf } from './open-database.js'

const engines = await startBothEngines()

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

describe.each(engines)('a list of a large table on %s', (engine, open) => {
  let database: Database
  beforeAll(async () => {
    database = await connect(await open(), { records: [Letter, Parcel] })
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

  function pretendRows(rows: number): void {
    jest.spyOn(TableSizes.prototype, 'rowsOf').mockReturnValue(rows)
    jest.spyOn(TableSizes.prototype, 'valuesOf').mockImplementation((_table, column) => {
      if (rows < 250_000) return undefined
      return column === 'status' ? 2 : column === 'priority' ? 1000 : undefined
    })
  }

  /** Reads three pages by cursor, and one by offset. */
  async function readPages(
    record: typeof Letter | typeof Parcel,
    options: object,
    rows: number,
  ): Promise<unknown[]> {
    pretendRows(rows)
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

  it('has the matches of a search whose order has few values', async () => {
    const options = { search: 'late', orderBy: '-status' }
    const small = await readPages(Letter, options, 10)
    expect(await readPages(Letter, options, 1_000_000)).toEqual(small)
  })

  it('includes deleted rows on request', async () => {
    const options = { search: 'common', orderBy: 'priority', withDeleted: true }
    const small = await readPages(Letter, options, 10)
    expect(await readPages(Letter, options, 1_000_000)).toEqual(small)
  })

  it.each([
    'query Q($limit: Int, $offset: Int) { rows: letters(where: $where, orderBy: { due: desc }, limit: $limit, offset: $offset) { id } }',
    'query Q($limit: Int) { rows: lettersPage(where: $where, orderBy: { due: desc }, first: $limit) { edges { node { id } } } }',
  ])('has the same rows in GraphQL: %s', async (text) => {
    const graphql = new GraphQL({ database, maskErrors: false, limits: { cost: 10_000_000 } })
    graphql.schema.fromOrm(Letter)
    const read = async (rows: number): Promise<[unknown, string[]]> => {
      pretendRows(rows)
      const statements: string[] = []
      const listen = (message: unknown): void => {
        statements.push((message as { sql: string }).sql)
      }
      subscribe('filigree:statement', listen)
      const document = text.replace('$where', '{ status: { eq: "closed" }, search: "late" }')
      const result = await graphql.execute(document, { limit: 30, offset: 0 })
      unsubscribe('filigree:statement', listen)
      return [JSON.parse(JSON.stringify(result)), statements]
    }
    const [small] = await read(10)
    const [large, statements] = await read(1_000_000)
    expect(small).not.toHaveProperty('errors')
    expect(large).toEqual(small)
    expect(statements.join()).toMatch(/filigree_(few|start)/)
  })

  /** Whether a list's statement depends on the number of its matches. */
  async function counts(options: object): Promise<boolean> {
    return (await statementsOf(options)).some((sql) => /filigree_(few|start)/.test(sql))
  }

  async function statementsOf(options: object): Promise<string[]> {
    const statements: string[] = []
    const listen = (message: unknown): void => {
      statements.push((message as { sql: string }).sql)
    }
    subscribe('filigree:statement', listen)
    await database.records(Letter).list({ limit: 10, ...options })
    unsubscribe('filigree:statement', listen)
    return statements
  }

  it('counts matches only if no index serves filter and order', async () => {
    pretendRows(1_000_000)
    expect(await counts({ where: { status: 'open' }, orderBy: 'priority' })).toBe(true)
    expect(await counts({ search: 'rare', orderBy: 'id' })).toBe(true)
    expect(await counts({ search: 'rare' })).toBe(false)
    expect(await counts({ where: { id: 5 }, orderBy: 'priority' })).toBe(false)
    expect(await counts({ where: { status: 'open' } })).toBe(false)
    expect(await counts({ where: { priority: 5 }, orderBy: 'priority' })).toBe(false)
    expect(await counts({ where: { weight: 5 }, orderBy: 'priority' })).toBe(false)
    expect(await counts({ where: { status: 'open' }, orderBy: 'weight' })).toBe(false)
    expect(await counts({ orderBy: 'priority' })).toBe(false)
    pretendRows(1000)
    expect(await counts({ where: { status: 'open' }, orderBy: 'priority' })).toBe(false)
  })

  it('gives no advice about an index, because its scans have an end', async () => {
    pretendRows(1_000_000)
    await engineOf(database).run(frameworkScript('analyze'), [], 'nothing')
    const options = { where: { status: { in: ['open', 'closed'] } }, orderBy: '-sentAt' }
    const statement = (await statementsOf(options)).find((sql) => /filigree_(few|start)/.test(sql))
    const { advice } = await planStatement(internalsOf(database), statement ?? '')
    expect(advice).toEqual([])
  })

  it('leaves lists of PostgreSQL to the planner whose filter selects few rows', async () => {
    pretendRows(1_000_000)
    const isPostgres = engine === 'PostgreSQL'
    const two = { status: 'open', priority: 5 } as const
    const options = { where: two, orderBy: '-due' }
    const valuesOf = jest.spyOn(TableSizes.prototype, 'valuesOf')
    valuesOf.mockImplementation((_table, column) =>
      column === 'priority' || column === 'status' ? 10 : undefined,
    )
    expect(await counts(options)).toBe(true)
    // SQLite reads rows in the order of their keys fast.
    expect(await counts({ where: two, orderBy: '-id' })).toBe(isPostgres)
    valuesOf.mockReturnValue(200)
    expect(await counts(options)).toBe(!isPostgres)
    valuesOf.mockReturnValue(undefined)
    expect(await counts(options)).toBe(!isPostgres)
    // Many rows are equal in the order.
    valuesOf.mockReturnValue(10)
    expect(await counts(options)).toBe(!isPostgres)
    expect(await counts({ search: 'rare', orderBy: '-due' })).toBe(true)
  })
})
