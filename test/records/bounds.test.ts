/** How many rows the statements of clients look at at most, and so which run in the main thread on SQLite. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { BelongsTo, Field, HasMany, Record, type Rel } from '../../src/index.js'
import { connect, type Database } from '../../src/records/database.js'
import type { Statement } from '../../src/engines/contract/statement.js'
import { chooseDriver } from '../../src/engines/sqlite/choose-driver.js'
import { Connection } from '../../src/engines/sqlite/connection.js'
import { ReadCostEstimator } from '../../src/engines/sqlite/client-reads.js'
import { arrangeValues } from '../../src/sql/write-statement.js'
import { planList } from '../../src/records/statements/list-plan.js'
import { selectRows } from '../../src/records/statements/select-rows.js'
import { runSql } from './run-sql.js'

@Record()
class Shelf {
  @Field('id') id!: number
  @Field('string', { unique: true }) code!: string
  @HasMany(() => Good) goods!: Rel<Good[]>
}

@Record({ indexes: [{ fields: ['color', '-price'] }, { fields: ['weight'] }] })
class Good {
  @Field('id') id!: number
  @Field('string') color!: string
  @Field('integer') price!: number
  @Field('integer', { nullable: true }) weight!: number | null
  @Field('string') note!: string
  @Field('integer') shelfId!: number
  @BelongsTo(() => Shelf) shelf!: Rel<Shelf>
}

@Record({ softDelete: true })
class Gone {
  @Field('id') id!: number
  @Field('string', { unique: true }) code!: string
}

const rows = 30_000
let folder: string
let file: string
let database: Database
let connection: Connection
let short: ReadCostEstimator

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-bounds-'))
  file = join(folder, 'bounds.db')
  database = await connect(`sqlite:${file}`, { records: [Shelf, Good, Gone] })
  await database.sync()
  await runSql(
    database,
    `
    with recursive n (i) as (select 1 union all select i + 1 from n limit 50)
      insert into shelf (code) select 'shelf ' || i from n;
    with recursive n (i) as (select 1 union all select i + 1 from n limit ${rows})
      insert into good (color, price, weight, note, shelf_id)
      select 'color ' || i % 3, i % 100, case when i % 2 then i end, 'note', 1 + i % 50 from n;
    with recursive n (i) as (select 1 union all select i + 1 from n limit ${rows})
      insert into gone (code) select 'code ' || i from n`,
  )
  connection = new Connection(await chooseDriver(undefined), { file, readOnly: true })
  short = new ReadCostEstimator(connection)
})
afterAll(async () => {
  connection.close()
  await database.close()
  await rm(folder, { recursive: true })
})

type Options = Parameters<typeof planList<object>>[2]

function lengthOf(type: typeof Good | typeof Shelf | typeof Gone, options: object): string {
  const { plan, values } = planList(
    database.table(type as never),
    database.context,
    options as Options,
  )
  return short.estimate(plan.statement, arrangeValues(plan, values))
}

describe('A list on SQLite is short', () => {
  it.each<[string, object]>([
    ['by its key', { where: { id: 5 } }],
    ['by some keys', { where: { id: { in: [1, 2, 3] } }, orderBy: { note: 'asc' } }],
    ['in the order of its key', { limit: 20 }],
    ['backwards', { orderBy: { id: 'desc' }, limit: 20 }],
    ['behind a key', { where: { id: { gt: 20_000 } }, limit: 20 }],
    ['of a foreign key', { where: { shelfId: 3 }, limit: 20 }],
    [
      'by an index that serves filter and order',
      { where: { color: 'a' }, orderBy: { price: 'desc' }, limit: 20 },
    ],
    [
      'by it backwards',
      { where: { color: 'a' }, orderBy: [{ price: 'asc' }, { id: 'desc' }], limit: 20 },
    ],
    [
      'by a range of it',
      { where: { color: 'a', price: { lt: 50 } }, orderBy: { price: 'desc' }, limit: 9 },
    ],
    ['in an order with nulls', { orderBy: { weight: 'asc' }, limit: 20 }],
    ['with a filter on what it belongs to, by its key', { where: { id: 5, shelf: { code: 'x' } } }],
    ['of a small offset', { limit: 20, offset: 100 }],
  ])('%s', (_name, options) => {
    expect(lengthOf(Good, options)).toBe('short')
  })

  it('where the whole table is small, whatever is asked', () => {
    expect(lengthOf(Shelf, { orderBy: { code: 'desc' } })).toBe('short')
    expect(lengthOf(Shelf, { where: { or: [{ id: 1 }, { code: 'x' }] } })).toBe('short')
  })
})

describe('A list on SQLite goes to the readers', () => {
  it.each<[string, object]>([
    ['by no index', { where: { note: 'x' }, limit: 20 }],
    [
      'where its index leaves a filter over',
      { where: { color: 'a', note: 'x' }, orderBy: { price: 'desc' }, limit: 20 },
    ],
    [
      'where its index does not serve the order',
      { where: { color: 'a' }, orderBy: { note: 'asc' }, limit: 20 },
    ],
    ['without an end', { where: { shelfId: 3 } }],
    ['of a large offset', { limit: 20, offset: 25_000 }],
    ['in two directions', { orderBy: [{ color: 'asc' }, { price: 'asc' }], limit: 20 }],
    ['by one of many related rows', { where: { shelf: { goods: { note: 'x' } } }, limit: 20 }],
    ['by a pattern', { where: { id: 5, note: { like: '%x%' } } }],
  ])('%s', (_name, options) => {
    expect(lengthOf(Good, options)).toBe('long')
  })

  it('of rows that may have been deleted softly before', () => {
    expect(lengthOf(Gone, { limit: 20 })).toBe('long')
    expect(lengthOf(Gone, { where: { code: 'code 5' } })).toBe('short')
    expect(lengthOf(Gone, { limit: 20, withDeleted: true })).toBe('short')
  })
})

describe('Counts on SQLite', () => {
  const countOf = (statement: Statement, values: unknown[]): string =>
    short.estimate(statement, values)
  const all = { condition: undefined, key: '', count: 0, withDeleted: false }

  it('are as long as the table, or as they count', () => {
    const plans = database.context.plansOf(database.table(Good))
    expect(countOf(plans.count(all).statement, [])).toBe('long')
    expect(countOf(plans.countUpTo(all).statement, [10_001])).toBe('quick')
    expect(countOf(plans.countUpTo(all).statement, [500])).toBe('short')
  })

  it.each<[object, string]>([
    [{ price: 5 }, 'short'],
    [{ note: { contains: 'a' } }, 'long'],
    [{ shelf: { goods: { note: 'a' } } }, 'long'],
  ])('of the first and the last rows look at what their conditions do: %j', (where, length) => {
    const table = database.table<object>(Good)
    const { selection, values } = selectRows(table, database.context, { where: where })
    const { statement } = database.context.plansOf(table).sample(selection)
    expect(countOf(statement, [...values, 500])).toBe(length)
  })
})

describe('An index that the database lacks', () => {
  it('proves nothing', async () => {
    const [index] = database
      .table(Good)
      .indexes.filter(({ columns }) => columns[0]?.name === 'weight')
    const asked = { where: { weight: 8 }, limit: 20 }
    expect(lengthOf(Good, asked)).toBe('short')
    await runSql(database, `drop index "${index?.name ?? ''}"`)
    // A connection plans by the schema that it has read.
    const other = new Connection(await chooseDriver(undefined), { file, readOnly: true })
    short = new ReadCostEstimator(other)
    expect(lengthOf(Good, asked)).toBe('long')
    other.close()
  })
})
