/** Records without a key in GraphQL: lists, counts and aggregates only. Source: public API, 18. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  connect,
  type Database,
  Field,
  GraphQL,
  Record,
  type Rel,
} from '../../../src/index.js'
import { startBothEngines } from '../../records/both-engines.js'
import { runSql } from '../../records/run-sql.js'
import { countStatements } from '../planner/count-statements.js'

@Record({ table: 'seller' })
class Seller {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record({ table: 'day_sum', key: false })
class DaySum {
  @Field('date') day!: string
  @Field('integer') amount!: number
  @Field('integer') sellerId!: number
  @BelongsTo(() => Seller) seller!: Rel<Seller>
}

describe.each(await startBothEngines())('records without a key in GraphQL on %s', (_name, open) => {
  let database: Database
  const endpoints: GraphQL[] = []

  beforeAll(async () => {
    database = await connect(await open(), { records: [Seller, DaySum] })
    await database.sync()
    const { id } = await database.records(Seller).create({ name: 'Ada' })
    for (const [day, amount] of [
      ['2026-11-01', 5],
      ['2026-11-02', 7],
    ] as const)
      await runSql(
        database,
        `insert into day_sum (day, amount, seller_id) values ('${day}', ${amount}, ${id})`,
      )
    for (const relay of [false, true]) {
      const endpoint = new GraphQL({ database, relay, maskErrors: false })
      endpoint.schema.fromOrm(Seller)
      endpoint.schema.fromOrm(DaySum)
      endpoints.push(endpoint)
    }
  })
  afterAll(() => database.close())

  it('lists, filters, counts and aggregates their rows, with what they belong to', async () => {
    const query = `{ daysums(orderBy: [{ amount: desc }], limit: 5, where: { amount: { gt: 1 } }) {
      day amount seller { name } } daysumCount daysumsAggregate { count sum { amount } } }`
    for (const endpoint of endpoints) {
      const { result } = await countStatements(database, () => endpoint.execute(query))
      expect(result).toEqual({
        data: {
          daysums: [
            { day: '2026-11-02', amount: 7, seller: { name: 'Ada' } },
            { day: '2026-11-01', amount: 5, seller: { name: 'Ada' } },
          ],
          daysumCount: 2,
          daysumsAggregate: [{ count: 2, sum: { amount: 12 } }],
        },
      })
    }
  })

  it('have no other queries, mutations and subscriptions', () => {
    for (const endpoint of endpoints) {
      const schema = endpoint.describe()
      expect(schema).toMatch(/ daysums\(/)
      for (const missing of [' daysum(', 'daysumsPage', 'DaySumConnection', 'DaySumKey'])
        expect(schema).not.toContain(missing)
      expect(schema).not.toMatch(/(?:create|update|delete|upsert)DaySum|daysumChanged/)
      expect(schema).not.toContain('DaySumInput')
    }
  })
})
