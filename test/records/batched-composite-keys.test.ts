/** Concurrent calls by keys of several fields, which PostgreSQL runs as one statement. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, Module, NoAuth, type Application } from 'filigree'
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

  it('update several rows each by one statement', async () => {
    const change = (indexes: readonly number[], text: string) =>
      places().updateMany(indexes.map((index) => ({ ...keyOf(index), book: `${text} ${index}` })))
    await concurrently(isUpdate, () => [change([60, 61], 'a'), change([62, 63], 'a')])
    await watch.settled()
    let results: PromiseSettledResult<ShelfPlace[]>[] = []
    const statements = await watch.during(async () => {
      results = await concurrently(isUpdate, () => [
        change([60, 61], 'b'),
        change([71, 64], 'b'),
        change([72, 65, 79], 'b'),
        // No such row, so none of its rows is changed.
        change([66, 500], 'b'),
        // The same row as another call.
        change([80, 64], 'c'),
      ])
    })
    expect(statements.filter(isBatched)).toHaveLength(1)
    const booksOf = (call: number) => {
      const result = results[call]
      return result?.status === 'fulfilled' ? result.value.map(({ book }) => book) : 'failed'
    }
    expect([0, 1, 2, 3, 4].map(booksOf)).toEqual([
      ['b 60', 'b 61'],
      ['b 71', 'b 64'],
      ['b 72', 'b 65', 'b 79'],
      'failed',
      ['c 80', 'c 64'],
    ])
    expect(await places().find(keyOf(64))).toMatchObject({ book: 'c 64', version: 3 })
    expect(await places().find(keyOf(66))).toMatchObject({ book: 'b66', version: 1 })
  })
})

@Record({ table: 'shelf_label', plural: 'shelfLabels', key: ['shelf', 'place'] })
@NoAuth
class ShelfLabel {
  @Field('string') shelf!: string
  @Field('integer') place!: number
  @Field('string') text!: string
}

@Module({ records: [ShelfLabel] })
class Labels {}

describe('updates by keys of several fields in one GraphQL operation', () => {
  let app: Application
  let labels: Database

  beforeAll(async () => {
    const url = await server.createDatabase()
    const engine = watch.around(await openEngine(url, { log: silentLog }))
    labels = await connect({
      engine: { open: () => Promise.resolve(engine) },
      records: [ShelfLabel],
    })
    await labels.sync()
    const rows = Array.from({ length: 20 }, (_, place) => ({ shelf: 'a,b', place, text: '' }))
    await labels.records(ShelfLabel).insertMany(rows)
    app = await bootstrap(Labels, { database: labels, listen: false, logger: false })
  })
  afterAll(async () => {
    await app.close()
    await labels.close()
  })

  const write = async (places: readonly number[], text: string) => {
    const fields = places.map(
      (place, n) =>
        `m${n}: updateShelfLabel(shelf: "a,b", place: ${place}, input: { text: "${text}" }) { place text }`,
    )
    const json = { query: `mutation { ${fields.join(' ')} }` }
    const response = await app.inject({ method: 'POST', url: '/graphql', json })
    await watch.settled()
    return Object.values(
      (response.json() as { data: globalThis.Record<string, { place: number } | null> }).data,
    )
  }

  it('are one statement', async () => {
    await write([1, 2, 3], 'warm')
    let answers: unknown
    const statements = await watch.during(async () => {
      answers = await write([9, 7, 8], 'new')
    })
    expect(answers).toEqual([9, 7, 8].map((place) => ({ place, text: 'new' })))
    expect(statements.filter(isUpdate).map(isBatched)).toEqual([true])
  })

  it('run one by one if a row does not exist', async () => {
    expect(await write([3, 99, 4], 'some')).toEqual([
      { place: 3, text: 'some' },
      null,
      { place: 4, text: 'some' },
    ])
  })
})
