/** Additions, version checks and bulk updates run as one statement, with the same errors as if each row were read first. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { connect, Field, HttpError, Record as Table, type Database } from '../../src/index.js'
import { startBothEngines } from './both-engines.js'

@Table({ version: true })
class Stock {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer', { min: 0, max: 100 }) pieces!: number
  @Field('decimal', { precision: 12, scale: 2, min: '-10.00' }) price!: string
  @Field('decimal', { precision: 30, scale: 3 }) weight!: string
  @Field('bigint') counted!: string
  @Field('numeric') share!: number
  @Field('integer', { nullable: true }) reserved!: number | null
}

const row = {
  name: 'a',
  pieces: 10,
  price: '5.00',
  weight: '1.000',
  counted: '9223372036854775800',
  share: 0.5,
  reserved: null,
}

const engines = await startBothEngines()

describe.each(engines)('additions in one statement: %s', (name, address) => {
  const isLocal = name === 'SQLite'
  let database: Database
  beforeAll(async () => {
    database = await connect(await address(), { records: [Stock] })
    await database.sync()
  })
  afterAll(() => database.close())
  const stocks = () => database.records(Stock)
  beforeEach(async () => {
    await stocks().deleteWhere({})
    await stocks().insertMany([1, 2, 3].map((id) => ({ ...row, id, version: 1 })))
  })

  /** @returns the number of statements on the table that `work` sends */
  const countStatements = async (work: () => Promise<unknown>): Promise<number> => {
    let count = 0
    const onStatement = (event: unknown): void => {
      const { sql } = event as { sql: string }
      if (/^(?:update|delete|select|with)/i.test(sql) && sql.includes('stock')) count++
    }
    subscribe('tracing:filigree:statement:start', onStatement)
    try {
      await work()
    } finally {
      unsubscribe('tracing:filigree:statement:start', onStatement)
    }
    return count
  }
  const rejectionOf = async (work: Promise<unknown>): Promise<[number, string | undefined]> => {
    const error: unknown = await work.catch((err: unknown) => err)
    return error instanceof HttpError ? [error.status, error.errors?.[0]?.path] : [0, String(error)]
  }
  const piecesOf = async () => (await stocks().list()).map(({ pieces }) => pieces)

  it('add exactly to each numeric type', async () => {
    const changes = {
      pieces: { add: -3 },
      price: { add: '0.10' },
      counted: { add: '7' },
      share: { add: 0.25 },
      name: 'b',
    }
    expect(await countStatements(() => stocks().update(1, changes))).toBe(1)
    expect(await stocks().find(1)).toMatchObject({
      ...{ name: 'b', pieces: 7, price: '5.10', counted: '9223372036854775807', share: 0.75 },
      version: 2,
    })
    await stocks().update(1, { weight: { add: '123456789012345678901234.001' } })
    expect((await stocks().find(1))?.weight).toBe('123456789012345678901235.001')
  })

  it('are rejected if the result breaks a rule, and write nothing', async () => {
    const cases: [Parameters<ReturnType<typeof stocks>['update']>[1], string][] = [
      [{ pieces: { add: -11 } }, 'pieces'],
      [{ pieces: { add: 91 } }, 'pieces'],
      [{ price: { add: '-15.01' } }, 'price'],
      [{ price: { add: '9999999999.99' } }, 'price'],
      [{ counted: { add: '8' } }, 'counted'],
      [{ reserved: { add: 1 } }, 'reserved'],
      [{ name: 'b', pieces: { add: 1000 } }, 'pieces'],
    ]
    for (const [changes, path] of cases) {
      expect(await rejectionOf(stocks().update(1, changes))).toEqual([400, path])
      expect(await rejectionOf(stocks().updateWhere({}, changes))).toEqual([400, path])
      const many = [1, 2].map((id) => ({ ...changes, id })) as never
      expect(await rejectionOf(stocks().updateMany(many))).toEqual([400, `0.${path}`])
    }
    expect(await stocks().list()).toEqual([1, 2, 3].map((id) => ({ ...row, id, version: 1 })))
    expect(await stocks().update(9, { pieces: { add: 1 } })).toBeNull()
    expect(await stocks().update(1, { pieces: { add: 90 } })).toMatchObject({ pieces: 100 })
    const where = { pieces: { lt: 100 } }
    expect(await stocks().update(1, { pieces: { add: 0 } }, { where })).toBeNull()
  })

  it('check the version in the update or delete statement', async () => {
    const change = { pieces: { add: 1 } }
    expect(await countStatements(() => stocks().update(1, change, { expectedVersion: 1 }))).toBe(1)
    expect(await rejectionOf(stocks().update(1, change, { expectedVersion: 1 }))).toEqual([
      409,
      'version',
    ])
    expect(await rejectionOf(stocks().delete(1, { expectedVersion: 1 }))).toEqual([409, 'version'])
    expect(await countStatements(() => stocks().delete(1, { expectedVersion: 2 }))).toBe(1)
    expect(await stocks().delete(1, { expectedVersion: 2 })).toBe(false)
  })

  it('update all rows of a filter, and report each to listeners', async () => {
    const where = { id: { lte: 2 } }
    const change = { pieces: { add: 5 } }
    expect(await countStatements(() => stocks().updateWhere(where, change))).toBe(1)
    const events: unknown[] = []
    const stop = database.onChange(({ event, id }) => events.push([event, id]))
    expect(await countStatements(() => stocks().updateWhere(where, change))).toBe(1)
    expect(await stocks().updateWhere({ id: 3 }, { name: 'c' })).toBe(1)
    stop()
    expect(events).toEqual([1, 2, 3].map((id) => ['updated', id]))
    expect(await piecesOf()).toEqual([20, 20, 10])
    expect(await stocks().find(1)).toMatchObject({ version: 3 })
  })

  it('update many rows by id and version', async () => {
    const add = (id: number, version: number) => ({ id, version, pieces: { add: id } }) as never
    expect(
      await countStatements(() => stocks().updateMany([add(1, 1), add(2, 1), add(3, 1)])),
    ).toBe(isLocal ? 3 : 1)
    expect(await piecesOf()).toEqual([11, 12, 13])
    expect(await rejectionOf(stocks().updateMany([add(1, 2), add(2, 1)]))).toEqual([
      409,
      '1.version',
    ])
    expect(await piecesOf()).toEqual([11, 12, 13])
  })

  it('lose no update under 40 concurrent calls, and respect the bounds', async () => {
    const work = Array.from({ length: 40 }, () =>
      stocks()
        .update(1, { pieces: { add: -1 } })
        .then(
          () => 1,
          (error: unknown) => (error as HttpError).status,
        ),
    )
    const results = await Promise.all(work)
    expect(results.filter((one) => one === 1)).toHaveLength(10)
    expect(results.filter((one) => one === 400)).toHaveLength(30)
    expect((await stocks().find(1))?.pieces).toBe(0)
  })
})
