/** A PostgreSQL connection limits its prepared statements, and keeps the recently used ones. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { connect, Field, Record as Table, type Database } from '../../src/index.js'
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'
import { readSql } from '../records/run-sql.js'

const names = Array.from({ length: 11 }, (_, index) => `f${index}`)

@Table({ table: 'prepared_form' })
class Form {
  @Field('id') id!: number
  @Field('string', { optional: true }) hot?: string
}
for (const name of names) Field('integer', { optional: true })(Form.prototype, name)

let server: PostgresServer
let database: Database
beforeAll(async () => {
  server = await startPostgres()
  database = await connect(await server.createDatabase(), { records: [Form] })
  await database.sync()
})
afterAll(async () => {
  await database.close()
  await server.close()
})

/** A filter by some of the fields, so that each number has a statement of its own. */
const filterOf = (number: number): object =>
  Object.fromEntries(names.filter((_, bit) => (number >> bit) & 1).map((name) => [name, 1]))

it('closes the least recently used prepared statements', async () => {
  await database.transaction(async (tx) => {
    const forms = tx.records(Form)
    for (let number = 1; number <= 1250; number++) {
      await forms.list({ where: filterOf(number) } as never)
      await forms.list({ where: { hot: 'a' } })
    }
    const count = async (test: string): Promise<number> => {
      const text = `select cast(count(*) as int) as count from pg_prepared_statements where ${test}`
      return Number((await readSql(tx, text))[0]?.[0])
    }
    expect(await count(`name like 'filigree%'`)).toBeGreaterThan(800)
    expect(await count(`name like 'filigree%'`)).toBeLessThanOrEqual(1001)
    expect(await count(`statement like '%"hot" = %'`)).toBe(1)
    // The first filter was closed, and is prepared again.
    const first = `statement like '%where%"f0" = $%' and statement not like '%"f0" = $%"f%'`
    const before = await count(first)
    expect(await forms.list({ where: filterOf(1) } as never)).toEqual([])
    expect([before, await count(first)]).toEqual([0, 1])
  })
})
