import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import {
  Field,
  type Generated,
  HttpError,
  Record,
  connect,
  type Database,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import { runSql } from './run-sql.js'
import { internalsOf } from './open-database.js'

const engines = await startBothEngines()

@Record({ table: 'piece' })
class Piece {
  @Field('id') id!: number
  @Field('integer', { min: 0, max: 9, default: 5 }) stock!: Generated<number>
  @Field('string', { maxLength: 4, default: "it's", optional: true }) code?: string
  @Field('decimal', { min: '0.10', default: '1' }) price!: Generated<string>
  @Field('enum', { oneOf: ['red', 'blue'], default: 'red' }) color!: Generated<string>
  @Field('date', { min: '2020-01-01', nullable: true, optional: true }) day?: string | null
  @Field('datetime', { default: 'now' }) at!: Generated<string>
  @Field('blob', { maxLength: 2, optional: true }) bytes?: Buffer
  @Field('integer', { max: 3, default: 1, hidden: true }) secret!: Generated<number>
  @Field('integer', { max: 3, default: 1, optional: true, nullable: true, check: false })
  free?: number | null
}

const insert = (database: Database, column: string, value: string): Promise<unknown> =>
  sql.raw(`insert into piece (${column}) values (${value})`).execute(database.kysely)

describe.each(engines)('constraints in the database: %s', (_name, open) => {
  it('apply to writes of other programs too, and defaults fill omitted columns', async () => {
    const database = await connect(await open(), { records: [Piece] })
    await database.sync()
    expect(await database.differences()).toEqual([])
    const broken: [column: string, value: string][] = [
      ['stock', '-1'],
      ['stock', '10'],
      ['color', "'green'"],
      ['day', "'2019-12-31'"],
      ['bytes', database.engineName === 'sqlite' ? "x'010203'" : "'\\x010203'"],
      ['secret', '4'],
    ]
    for (const [column, value] of broken)
      await expect(insert(database, column, value)).rejects.toThrow()
    await expect(
      sql`insert into piece (code) values ('abcde')`.execute(database.kysely),
    ).rejects.toThrow()
    // Four code points in eight UTF-16 units.
    await sql`insert into piece (code) values ('😀😀😀😀')`.execute(database.kysely)
    await insert(database, 'free', '4')
    const [row, other] = await database.records(Piece).list()
    const filled = { stock: 5, price: '1.00', color: 'red', secret: 1 }
    expect(row).toMatchObject({ ...filled, code: '😀😀😀😀' })
    expect(other).toMatchObject({ ...filled, code: "it's", free: 4 })
    expect(Date.parse(row?.at ?? '')).toBeGreaterThan(0)
    await database.close()
  })

  it('respond with 400 and name the field, but never a hidden one', async () => {
    const database = await connect(await open(), { records: [Piece] })
    await database.sync()
    // This class lacks the rules, as an older process would.
    @Record({ table: 'piece' })
    class Loose {
      @Field('id') id!: number
      @Field('integer', { default: 0 }) stock!: Generated<number>
      @Field('integer', { default: 0, hidden: true }) secret!: Generated<number>
      @Field('string', { nullable: true, optional: true }) code?: string | null
      @Field('string', { nullable: true, default: 'red' }) color?: string | null
    }
    const pieces = database.records(Loose)
    const refusal = async (values: Partial<Loose>): Promise<HttpError> =>
      (await pieces.create({ code: 'a', ...values }).catch((error: unknown) => error)) as HttpError
    const stock = await refusal({ stock: 10 })
    expect([stock.status, stock.code]).toEqual([400, 'VALIDATION'])
    expect(stock.errors).toEqual([
      { path: 'stock', code: 'check', message: 'stock is not allowed' },
    ])
    const none = await refusal({ color: null })
    expect([none.status, none.errors?.[0]?.path]).toEqual([400, 'color'])
    const secret = await refusal({ secret: 4 })
    expect([secret.status, secret.errors, secret.message]).toEqual([
      400,
      undefined,
      'A value does not fit the record.',
    ])
    await database.close()
  })

  it('follow changed rules of the record in existing tables', async () => {
    const database = await connect(await open(), { records: [] })
    const define = (rules: object): new () => { id: number; size: number } => {
      @Record({ table: 'box' })
      class Box {
        @Field('id') id!: number
        @Field('integer', rules) size!: number
      }
      return Box
    }
    const syncWith = async (rules: object): Promise<string[]> => {
      const Box = define(rules)
      internalsOf(database).tables.clear()
      internalsOf(database).table(Box)
      const applied = await database.sync()
      expect(await database.differences()).toEqual([])
      await database.verify()
      return applied.map(({ kind }) => kind)
    }
    const box = (size: number): Promise<unknown> =>
      sql`insert into box (size) values (${size})`.execute(database.kysely)
    await syncWith({})
    await box(7)
    expect(await syncWith({ max: 8, default: 2 })).toContain('missing check')
    await expect(box(9)).rejects.toThrow()
    expect(await syncWith({ max: 9, default: 3 })).toContain('other check')
    await box(9)
    await sql`insert into box default values`.execute(database.kysely)
    expect(
      (await sql`select size from box order by id`.execute(database.kysely)).rows,
    ).toHaveLength(3)
    await expect(syncWith({ max: 8 })).rejects.toThrow(/box\.size (is not checked|has a check)/)
    // Nothing was changed.
    await box(9)
    await database.close()
  })
})

describe.each(engines)('an existing table of another program: %s', (name, open) => {
  @Record({ table: 'ware' })
  class Ware {
    @Field('id') id!: number
    @Field('string', { maxLength: 20 }) title!: string
    @Field('decimal', { precision: 12, scale: 2, min: '0' }) price!: string
  }

  it('is used without changes: varchar, numeric(12,2)', async () => {
    const database = await connect(await open(), { records: [Ware] })
    const key =
      name === 'SQLite'
        ? 'integer primary key autoincrement'
        : 'bigint generated by default as identity primary key'
    await sql
      .raw(
        `create table ware (id ${key}, title varchar(20) not null, price ${name === 'SQLite' ? 'integer_scale_2' : 'numeric(12,2)'} not null)`,
      )
      .execute(database.kysely)
    await database.verify()
    await database.sync()
    const wares = database.records(Ware)
    const { id } = await wares.create({ title: 'lamp', price: '9.5' })
    expect(await wares.find(id)).toMatchObject({ title: 'lamp', price: '9.50' })
    expect(
      await wares.list({ where: { title: { startsWith: 'la' }, price: { gte: '9' } } }),
    ).toHaveLength(1)
    await database.close()
  })
})

const openPostgres = engines[1]?.[1] as () => Promise<string>

describe('a partitioned table of PostgreSQL', () => {
  @Record({ table: 'event' })
  class Event {
    @Field('id') id!: number
    @Field('string', { maxLength: 9, index: true }) kind!: string
    @Field('date', { min: '2020-01-01' }) day!: string
  }

  it('is used without changes', async () => {
    const database = await connect(await openPostgres(), { records: [Event] })
    await runSql(
      database,
      `
      create table event (id bigint generated by default as identity, kind varchar(9) not null,
        day date not null, primary key (id, day)) partition by range (day);
      create table event_2026 partition of event for values from ('2026-01-01') to ('2027-01-01');
      create table event_rest partition of event default`,
    )
    await database.verify()
    await database.sync()
    expect((await database.differences()).filter(({ blocks }) => blocks)).toEqual([])
    const events = database.records(Event)
    await events.insertMany([
      { kind: 'a', day: '2026-02-03' },
      { kind: 'b', day: '2025-02-03' },
    ])
    const [first] = await events.list({ where: { kind: 'a' } })
    expect(await events.update(first?.id ?? 0, { day: '2024-01-01' })).toMatchObject({ kind: 'a' })
    expect(await events.count()).toBe(2)
    expect(await events.delete(first?.id ?? 0)).toBe(true)
    await expect(
      sql`insert into event (kind, day) values ('c', '2019-01-01')`.execute(database.kysely),
    ).rejects.toThrow()
    await database.close()
  })
})
