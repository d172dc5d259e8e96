/** The estimated cost of client reads on SQLite. Short reads run in the main thread, long ones in reader threads. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  Field,
  HasMany,
  Record,
  type Rel,
  connect,
  type Database,
} from '../../src/index.js'
import type { Statement } from '../../src/engines/contract/statement.js'
import { sqliteScans } from '../../src/engines/sqlite/dialect.js'
import { chooseDriver } from '../../src/engines/sqlite/drivers.js'
import { Connection } from '../../src/engines/sqlite/connection.js'
import { ReadCostEstimator } from '../../src/engines/sqlite/read-costs.js'
import { arrangeValues } from '../../src/sql/write-statement.js'
import { planList } from '../../src/records/statements/list-plan.js'
import { selectRows } from '../../src/records/statements/select-rows.js'
import { runSql } from '../records/run-sql.js'
import { internalsOf, engineOf } from '../records/open-database.js'

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
class DeletedItem {
  @Field('id') id!: number
  @Field('string', { unique: true }) code!: string
}

@Record({ search: ['title', 'text'] })
class Article {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string') text!: string
}

const rows = 30_000
let folder: string
let file: string
let database: Database
let connection: Connection
let estimator: ReadCostEstimator

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-bounds-'))
  file = join(folder, 'bounds.db')
  database = await connect(`sqlite:${file}`, { records: [Shelf, Good, DeletedItem] })
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
      insert into deleted_item (code) select 'code ' || i from n`,
  )
  connection = new Connection(await chooseDriver(undefined), { file, readOnly: true })
  estimator = new ReadCostEstimator(connection)
})
afterAll(async () => {
  connection.close()
  await database.close()
  await rm(folder, { recursive: true })
})

type Options = Parameters<typeof planList<object>>[2]

function costOf(type: typeof Good | typeof Shelf | typeof DeletedItem, options: object): string {
  const { plan, values } = planList(
    internalsOf(database).table(type as never),
    internalsOf(database).context,
    options as Options,
  )
  return estimator.estimate(plan.statement, arrangeValues(plan, values))
}

describe('A list on SQLite is short', () => {
  it.each<[string, object]>([
    ['by its key', { where: { id: 5 } }],
    ['by some keys', { where: { id: { in: [1, 2, 3] } }, orderBy: { note: 'asc' } }],
    ['in the order of its key', { limit: 20 }],
    ['backwards', { orderBy: { id: 'desc' }, limit: 20 }],
    ['after a key', { where: { id: { gt: 20_000 } }, limit: 20 }],
    ['by a foreign key', { where: { shelfId: 3 }, limit: 20 }],
    [
      'by an index that serves filter and order',
      { where: { color: 'a' }, orderBy: { price: 'desc' }, limit: 20 },
    ],
    [
      'by that index backwards',
      { where: { color: 'a' }, orderBy: [{ price: 'asc' }, { id: 'desc' }], limit: 20 },
    ],
    [
      'by a range of that index',
      { where: { color: 'a', price: { lt: 50 } }, orderBy: { price: 'desc' }, limit: 9 },
    ],
    ['in an order with nulls', { orderBy: { weight: 'asc' }, limit: 20 }],
    ['by its key and a filter on the parent row', { where: { id: 5, shelf: { code: 'x' } } }],
    ['with a small offset', { limit: 20, offset: 100 }],
  ])('%s', (_name, options) => {
    expect(costOf(Good, options)).toBe('short')
  })

  it('for a small table, whatever the query', () => {
    expect(costOf(Shelf, { orderBy: { code: 'desc' } })).toBe('short')
    expect(costOf(Shelf, { where: { or: [{ id: 1 }, { code: 'x' }] } })).toBe('short')
  })
})

describe('A list on SQLite is long', () => {
  it.each<[string, object]>([
    ['without an index', { where: { note: 'x' }, limit: 20 }],
    [
      'when the index does not cover the filter',
      { where: { color: 'a', note: 'x' }, orderBy: { price: 'desc' }, limit: 20 },
    ],
    [
      'when the index does not serve the order',
      { where: { color: 'a' }, orderBy: { note: 'asc' }, limit: 20 },
    ],
    ['without a limit', { where: { shelfId: 3 } }],
    ['with a large offset', { limit: 20, offset: 25_000 }],
    ['in two directions', { orderBy: [{ color: 'asc' }, { price: 'asc' }], limit: 20 }],
    ['by one of many related rows', { where: { shelf: { goods: { note: 'x' } } }, limit: 20 }],
    ['by a pattern', { where: { id: 5, note: { like: '%x%' } } }],
  ])('%s', (_name, options) => {
    expect(costOf(Good, options)).toBe('long')
  })

  it('when soft-deleted rows may have to be skipped', () => {
    expect(costOf(DeletedItem, { limit: 20 })).toBe('long')
    expect(costOf(DeletedItem, { where: { code: 'code 5' } })).toBe('short')
    expect(costOf(DeletedItem, { limit: 20, withDeleted: true })).toBe('short')
  })
})

describe('Counts on SQLite', () => {
  const costOfCount = (statement: Statement, values: unknown[]): string =>
    estimator.estimate(statement, values)
  const all = { condition: undefined, key: '', count: 0, withDeleted: false }

  it('cost as much as the rows they count', () => {
    const plans = internalsOf(database).context.plansOf(internalsOf(database).table(Good))
    expect(costOfCount(plans.count(all).statement, [])).toBe('long')
    expect(costOfCount(plans.countUpTo(all).statement, [10_001])).toBe('quick')
    expect(costOfCount(plans.countUpTo(all).statement, [500])).toBe('short')
  })

  it.each<[object, string]>([
    [{ price: 5 }, 'short'],
    [{ note: { contains: 'a' } }, 'long'],
    [{ shelf: { goods: { note: 'a' } } }, 'long'],
  ])('cost as much as their condition when they sample rows: %j', (where, length) => {
    const table = internalsOf(database).table<object>(Good)
    const { filter, values } = selectRows(table, internalsOf(database).context, { where: where })
    const { statement } = internalsOf(database).context.plansOf(table).sample(filter)
    expect(costOfCount(statement, [...values, 500])).toBe(length)
  })
})

describe('A missing index', () => {
  it('does not lower the estimate', async () => {
    const [index] = internalsOf(database)
      .table(Good)
      .indexes.filter(({ columns }) => columns[0]?.name === 'weight')
    const options = { where: { weight: 8 }, limit: 20 }
    expect(costOf(Good, options)).toBe('short')
    await runSql(database, `drop index "${index?.name ?? ''}"`)
    // A connection plans with the schema it read when it was opened.
    const other = new Connection(await chooseDriver(undefined), { file, readOnly: true })
    estimator = new ReadCostEstimator(other)
    expect(costOf(Good, options)).toBe('long')
    other.close()
  })
})

describe('A search', () => {
  it('over many rows runs in a reader thread', async () => {
    const searchFile = join(folder, 'many.db')
    const searched = await connect(`sqlite:${searchFile}`, { records: [Article] })
    await searched.sync()
    await runSql(
      searched,
      `with recursive n (i) as (select 1 union all select i + 1 from n limit 20000)
       insert into article (title, text) select 'lamp', '' from n`,
    )
    const searchConnection = new Connection(await chooseDriver(undefined), {
      file: searchFile,
      log: undefined,
    } as never)
    try {
      const engine = engineOf(searched)
      const statements: Statement[] = []
      const run = engine.run.bind(engine)
      engine.run = (statement, values, mode) => {
        statements.push(statement)
        return run(statement, values, mode)
      }
      await searched.records(Article).list({ search: 'lamp', limit: 5 })
      const [statement] = statements
      const searchEstimator = new ReadCostEstimator(searchConnection)
      expect(statement && searchEstimator.estimate(statement, ['"lamp"', 5])).toBe('long')
    } finally {
      searchConnection.close()
      await searched.close()
    }
  })
})

/** Which tables SQLite reads completely, according to its query plan. */
it.each([
  ['a table', ['SCAN t0'], ['t0']],
  ['two tables', ['SCAN t0', 'SCAN t1'], ['t0', 't1']],
  ['a table in the order of an index', ['SCAN t0 USING INDEX a_index'], []],
  [
    'rows that a subquery found with an index',
    ['CO-ROUTINE t0', 'SEARCH t0 USING INDEX a_index (a=?)', 'SCAN t0', 'SEARCH t1 USING INDEX b'],
    [],
  ],
  ['a table inside a subquery of the same name', ['CO-ROUTINE t0', 'SCAN t0', 'SCAN t0'], ['t0']],
  ['a materialized subquery', ['MATERIALIZE t2', 'SEARCH t2 USING INDEX c', 'SCAN t2'], []],
])('reports fully scanned tables: %s', (_title, lines, tables) => {
  expect(sqliteScans.read(lines.map((line) => [0, 0, 0, line]))).toEqual(tables)
})
