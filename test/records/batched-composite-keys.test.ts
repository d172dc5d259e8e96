/** Concurrent calls by keys of several fields, which PostgreSQL runs as one statement. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect, Field, Record, type Database } from '../../src/index.js'
import { openEngine, StatementRecorder } from '../contracts/statement-recorder.js'
import { silentLog } from '../silent-log.js'
import { isBatched, isUpdate } from './batched-update-table.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'

@Record({ table: 'shelf_place', key: ['shelf', 'place'], version: true })
class ShelfPlace {
  @Field('string') shelf!: string
  @Field('bigint') place!: string
  @Field('string') book!: string
  version!: number
}

let server: PostgresServer
const watch = new StatementRecorder()
let database: Database

beforeAll(async () => {
  server = await startPostgres()
  const engine = watch.around(await openEngine(await server.createDatabase(), { log: silentLog }))
  database = await connect({
    engine: { open: () => Promise.resolve(engine) },
    records: [ShelfPlace],
  })
  await database.sync()
  await places().insertMany(
    Array.from({ length: 200 }, (_, index) => ({ ...keyOf(index), book: `b${index}` })),
  )
})
afterAll(async () => {
  await database.close()
  await server.close()
})

const places = () => database.records(ShelfPlace)
const keyOf = (index: number) => ({
  shelf: `a"\\,${index % 7}`,
  place: String(9_007_199_254_740_990n + BigInt(index)),
})

/** Starts the calls while the first statement is still running. */
async function concurrently<T>(
  isFirst: (sql: string) => boolean,
  calls: () => readonly Promise<T>[],
): Promise<PromiseSettledResult<T>[]> {
  const release = watch.hold(isFirst, 1, true)
  const settled = Promise.allSettled(calls())
  release()
  return settled
}

describe('calls by keys of several fields at the same time', () => {
  const update = (index: number) => places().update(keyOf(index), { book: `new ${index}` })

  it('update their rows by one statement', async () => {
    await concurrently(isUpdate, () => [1, 2, 3].map(update))
    await watch.settled()
    const indexes = [...Array.from({ length: 20 }, (_, index) => index + 10), 500, 501]
    let results: PromiseSettledResult<unknown>[] = []
    const statements = await watch.during(async () => {
      results = await concurrently(isUpdate, () => indexes.map(update))
    })
    expect(results.map((result) => (result as PromiseFulfilledResult<unknown>).value)).toEqual(
      indexes.map((index) =>
        index >= 200 ? null : expect.objectContaining({ ...keyOf(index), book: `new ${index}` }),
      ),
    )
    expect(statements.filter(isBatched)).toHaveLength(1)
    expect(await places().count({ book: { startsWith: 'new ' } })).toBe(23)
  })

  it('read their rows by one statement', async () => {
    const isSelect = (sql: string): boolean => sql.startsWith('select')
    const find = (index: number) => places().find(keyOf(index))
    for (let round = 0; round < 3; round++)
      await concurrently(isSelect, () => [40, 41, 42].map(find))
    await watch.settled()
    let results: PromiseSettledResult<unknown>[] = []
    const statements = await watch.during(async () => {
      results = await concurrently(isSelect, () => [50, 51, 500, 52, 53].map(find))
    })
    expect(results.map((result) => (result as PromiseFulfilledResult<unknown>).value)).toEqual(
      [50, 51, 500, 52, 53].map((index) =>
        index >= 200 ? null : expect.objectContaining({ ...keyOf(index), book: `b${index}` }),
      ),
    )
    expect(statements.filter(isBatched).length).toBeGreaterThan(0)
  })
})
