import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  type Application,
  bootstrap,
  connect,
  type Database,
  Field,
  type Generated,
  Module,
  NoAuth,
  Record,
  type Repository,
} from '../../src/index.js'
import { failure } from '../contracts/database-fixture.js'
import { startBothEngines } from './both-engines.js'

@Record({ rows: () => ({ owner: { ne: 'other' } }) })
@NoAuth
class Ware {
  @Field('id') id!: number
  @Field('string', { unique: true }) sku!: string
  @Field('integer', { min: 0, default: 7 }) stock!: Generated<number>
  @Field('string', { nullable: true, optional: true }) note?: string | null
  @Field('string', { default: 'me' }) owner!: Generated<string>
}

/** The body of a route. */
class Restock {
  @Field('integer') id!: number
  @Field('integer') stock!: number
}

@Record({ version: true })
class Draft {
  @Field('id') id!: number
  @Field('string') text!: string
  version!: number
}

@Module({ records: [Ware] })
class Shop {}

type Row = globalThis.Record<string, unknown>

const engines = await startBothEngines()

describe.each(engines)('%s: bulk writes', (name, open) => {
  let database: Database
  let wares: Repository<Ware>
  let app: Application
  const graphql = async (query: string): Promise<{ data: Row; errors?: Row[] }> => {
    const body = JSON.stringify({ query })
    const headers = { 'content-type': 'application/json' }
    const response = await app.inject({ method: 'POST', url: '/graphql', headers, body })
    return JSON.parse(response.body) as { data: Row; errors?: Row[] }
  }
  const statementsOf = async <T>(work: () => Promise<T>) => {
    const statements: string[] = []
    const listen = (message: unknown): void => {
      const { sql, database: one } = message as { sql: string; database: unknown }
      if (one === database) statements.push(sql)
    }
    subscribe('filigree:statement', listen)
    try {
      return { statements, result: await work() }
    } finally {
      unsubscribe('filigree:statement', listen)
    }
  }
  const skus = async (): Promise<string[]> => (await wares.list()).map(({ sku }) => sku)

  beforeAll(async () => {
    database = await connect(await open(), { records: [Ware, Draft] })
    await database.sync()
    wares = database.records(Ware)
    const env = { APP_API_KEY: 'key' }
    app = await bootstrap(Shop, { database, listen: false, logger: false, env })
  })
  beforeEach(async () => {
    await database.kysely.deleteFrom('ware').execute()
  })
  afterAll(() => database.close())

  it('creates all rows in order, or none', async () => {
    const created = await wares.createMany([{ sku: 'b' }, { sku: 'a', stock: 1 }, { sku: 'c' }])
    expect(created.map(({ sku, stock }) => [sku, stock])).toEqual([
      ['b', 7],
      ['a', 1],
      ['c', 7],
    ])
    expect(created[0]).toBeInstanceOf(Ware)
    const invalid = await failure(wares.createMany([{ sku: 'd' }, { sku: 'e', stock: -1 }]))
    expect(invalid).toMatchObject({ status: 400, errors: [{ path: '1.stock' }] })
    const duplicate = await failure(wares.createMany([{ sku: 'd' }, { sku: 'a' }]))
    expect(duplicate).toMatchObject({ status: 409, errors: [{ path: '1.sku' }] })
    expect(await skus()).toEqual(['b', 'a', 'c'])
    expect(await wares.createMany([])).toEqual([])
  })

  it('creates more rows than one statement may have, in order or none', async () => {
    const rows = Array.from({ length: 5100 }, (_, index) => ({ sku: `s${(index * 617) % 5100}` }))
    const { statements, result } = await statementsOf(() => wares.createMany(rows))
    expect(result.map(({ sku }) => sku)).toStrictEqual(rows.map(({ sku }) => sku))
    if (name === 'PostgreSQL') expect(statements.length).toBeLessThan(20)
    const others = Array.from({ length: 5100 }, (_, index) => ({ sku: `o${index}` }))
    const duplicate = await failure(wares.createMany([...others, { sku: 's7' }, { sku: 'p' }]))
    expect(duplicate).toMatchObject({ status: 409, errors: [{ path: '5100.sku' }] })
    const invalid = await failure(wares.createMany([...others, { sku: 'p', stock: -1 }]))
    expect(invalid).toMatchObject({ status: 400, errors: [{ path: '5100.stock' }] })
    expect(await wares.count()).toBe(5100)
  })

  it('updates all rows in order, or none', async () => {
    const [a, b] = await wares.createMany([{ sku: 'a' }, { sku: 'b' }])
    const changes = [
      { id: b?.id, stock: 1 },
      { id: a?.id, note: 'n' },
    ]
    const changed = await wares.updateMany(changes)
    expect(changed.map(({ sku, stock, note }) => [sku, stock, note ?? null])).toEqual([
      ['b', 1, null],
      ['a', 7, 'n'],
    ])
    const missing = [
      { id: a?.id, stock: 5 },
      { id: 999_999, stock: 5 },
    ]
    const [change] = await wares.updateMany([Object.assign(new Restock(), { id: b?.id, stock: 8 })])
    expect(change?.stock).toBe(8)
    expect(await failure(wares.updateMany(missing as never))).toMatchObject({ status: 404 })
    expect((await failure(wares.updateMany([{ stock: 5 }]))).errors).toMatchObject([
      { path: '0.id' },
    ])
    expect((await wares.find(a?.id ?? 0))?.stock).toBe(7)
  })

  it('updates more rows than one statement may have, in order or none', async () => {
    const rows = await wares.createMany(
      Array.from({ length: 5100 }, (_, index) => ({ sku: `s${index}` })),
    )
    const reversed = rows.map(({ id }, index) => ({ id, stock: index })).reverse()
    const { statements, result } = await statementsOf(() => wares.updateMany(reversed))
    expect(result.map(({ id, stock }) => ({ id, stock }))).toStrictEqual(reversed)
    if (name === 'PostgreSQL') expect(statements.length).toBeLessThan(20)
    const [first, last] = [rows[0] as Ware, rows[5099] as Ware]
    const repeated = await wares.updateMany([
      ...rows.map(({ id }) => ({ id, stock: 1 })),
      { id: first.id, stock: 2 },
    ])
    expect([repeated[0]?.stock, repeated[5100]?.stock]).toStrictEqual([1, 2])
    const exchanged = rows.map(({ id, sku }) => ({
      id,
      sku: id === first.id ? last.sku : id === last.id ? first.sku : sku,
    }))
    expect((await wares.updateMany(exchanged))[5099]?.sku).toBe(first.sku)
    const changes = rows.map(({ id }) => ({ id, stock: 9 }))
    const missing = failure(wares.updateMany([...changes, { id: 999_999, stock: 9 }]))
    expect(await missing).toMatchObject({ status: 404 })
    const invalid = failure(wares.updateMany([...changes, { id: first.id, stock: -1 }]))
    expect(await invalid).toMatchObject({ status: 400, errors: [{ path: '5100.stock' }] })
    expect(await wares.count({ stock: 9 })).toBe(0)
  })

  it('names the row of an invalid version, and of a value that is not an object', async () => {
    const drafts = database.records(Draft)
    const [a, b] = await drafts.createMany([{ text: 'a' }, { text: 'b' }])
    const wrong = [
      { id: a?.id, text: 'c' },
      { id: b?.id, text: 'c', version: 'x' },
    ]
    const invalid = await failure(drafts.updateMany(wrong as never))
    expect(invalid).toMatchObject({ status: 400, errors: [{ path: '1.version' }] })
    const empty = await failure(drafts.updateMany([null, { id: b?.id, text: 'c' }] as never))
    expect(empty).toMatchObject({ status: 400, errors: [{ path: '0.id' }] })
    expect((await drafts.list()).map(({ text }) => text)).toEqual(['a', 'b'])
  })

  it('deletes rows and returns how many existed', async () => {
    const created = await wares.createMany([{ sku: 'a' }, { sku: 'b' }, { sku: 'c' }])
    expect(await wares.deleteMany([created[0]?.id ?? 0, 999_999, created[2]?.id ?? 0])).toBe(2)
    expect(await skus()).toEqual(['b'])
  })

  it('upserts, and keeps fields that are not named', async () => {
    const created = await wares.upsert({ sku: 'a', note: 'unchanged' }, { by: 'sku' })
    const changed = await wares.upsert({ sku: 'a', stock: 3 }, { by: 'sku' })
    expect(changed).toEqual(Object.assign(created, { stock: 3 }))
    expect(await wares.count()).toBe(1)
    const byNote = wares.upsert({ sku: 'a', note: 'x' }, { by: 'note' })
    expect(await failure(byNote)).toMatchObject({ status: 400, errors: [{ path: 'by' }] })
    const without = wares.upsert({ stock: 1 }, { by: 'sku' })
    expect(await failure(without)).toMatchObject({ status: 400, errors: [{ path: 'sku' }] })
  })

  it('creates one row from 30 concurrent upserts', async () => {
    const all = Array.from({ length: 30 }, (_, stock) =>
      wares.upsert({ sku: 'one', stock }, { by: 'sku' }),
    )
    const rows = await Promise.all(all)
    expect(new Set(rows.map(({ id }) => id)).size).toBe(1)
    expect(await wares.count()).toBe(1)
  })

  it('creates one row from 30 concurrent transactions', async () => {
    const all = Array.from({ length: 30 }, (_, stock) =>
      database.transaction((tx) => tx.records(Ware).upsert({ sku: 'two', stock }, { by: 'sku' })),
    )
    const results = await Promise.allSettled(all)
    expect(results.some(({ status }) => status === 'fulfilled')).toBe(true)
    expect(await wares.count()).toBe(1)
  })

  it('writes all rows or none over GraphQL', async () => {
    const created = await graphql(
      'mutation { createWares(input: [{ sku: "b" }, { sku: "a", stock: 1 }]) { id sku stock } }',
    )
    const rows = created.data.createWares as Row[]
    expect(rows).toMatchObject([
      { sku: 'b', stock: 7 },
      { sku: 'a', stock: 1 },
    ])
    const none = await graphql(
      'mutation { createWares(input: [{ sku: "c" }, { sku: "d", stock: -1 }]) { id } }',
    )
    expect(none.data.createWares).toBeNull()
    expect(none.errors?.[0]).toMatchObject({ extensions: { errors: [{ path: 'input.1.stock' }] } })
    const [b, a] = rows.map(({ id }) => id as string)
    const changed = await graphql(
      `mutation { updateWares(input: [{ id: ${a}, stock: 5 }, { id: ${b}, note: "n" }]) { sku stock note } }`,
    )
    expect(changed.data.updateWares).toEqual([
      { sku: 'a', stock: 5, note: null },
      { sku: 'b', stock: 7, note: 'n' },
    ])
    const upserted = await graphql(
      'mutation { upsertWare(by: sku, input: { sku: "a", note: "m" }) { id stock note } }',
    )
    expect(upserted.data.upsertWare).toEqual({ id: a, stock: 5, note: 'm' })
    const inserted = await graphql(
      'mutation { upsertWare(by: "sku", input: { sku: "z" }) { sku stock } }',
    )
    expect(inserted.data.upsertWare).toEqual({ sku: 'z', stock: 7 })
    const invalid = await graphql('mutation { upsertWare(by: stock, input: { sku: "z" }) { sku } }')
    expect(invalid.errors?.[0]).toMatchObject({ extensions: { code: 'VALIDATION' } })
    const deleted = await graphql(`mutation { deleteWares(ids: [${a}, 999999, ${b}]) }`)
    expect(deleted.data.deleteWares).toBe(2)
    expect(await skus()).toEqual(['z'])
  })

  it('does not touch rows that the client may not see', async () => {
    const [mine, theirs] = await wares.createMany([
      { sku: 'mine' },
      { sku: 'theirs', owner: 'other' },
    ])
    const change = `mutation { updateWares(input: [{ id: ${mine?.id}, stock: 1 }, { id: ${theirs?.id}, stock: 1 }]) { id } }`
    expect((await graphql(change)).errors?.[0]).toMatchObject({ extensions: { code: 'NOT_FOUND' } })
    const deleted = await graphql(`mutation { deleteWares(ids: [${theirs?.id}]) }`)
    expect(deleted.data.deleteWares).toBe(0)
    const upserted = await graphql(
      'mutation { upsertWare(by: sku, input: { sku: "theirs", stock: 1 }) { id } }',
    )
    expect(upserted.errors?.[0]).toMatchObject({ extensions: { code: 'CONFLICT' } })
    const foreign = await graphql(
      'mutation { createWares(input: [{ sku: "x" }, { sku: "y", owner: "other" }]) { id } }',
    )
    expect(foreign.errors?.[0]).toMatchObject({ extensions: { code: 'FORBIDDEN' } })
    expect((await wares.list()).map(({ sku, stock }) => [sku, stock])).toEqual([
      ['mine', 7],
      ['theirs', 7],
    ])
  })
})
