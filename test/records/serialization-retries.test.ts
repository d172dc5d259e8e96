/** Retries of single statements after serialization failures. Source: docs/scaling.md, Distributed engines. */
import { afterAll, describe, expect, it } from '@jest/globals'
import { connect, Field, type Generated, Record } from '../../src/index.js'
import { startPostgres } from './postgres-server.js'

@Record
class Counter {
  @Field('id') id!: number
  @Field('integer', { default: 0 }) count!: Generated<number>
}

const server = await startPostgres()
afterAll(() => server.close())

describe('on a server with serializable isolation by default', () => {
  it('statements outside transactions are retried, and each takes effect once', async () => {
    const address = new URL(await server.createDatabase())
    address.searchParams.set('options', '-c default_transaction_isolation=serializable')
    const database = await connect(address.href, { records: [Counter] })
    try {
      await database.sync()
      const { id } = await database.records(Counter).create({})
      const add = (): Promise<unknown> =>
        database.kysely
          .updateTable('counter')
          .set((row) => ({ count: row('count', '+', 1) }))
          .where('id', '=', id)
          .execute()
      for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 8 }, add))
      expect(await database.records(Counter).find(id)).toMatchObject({ count: 40 })
    } finally {
      await database.close()
    }
  })
})
