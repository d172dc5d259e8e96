/** `@Record({ partitionBy })` through repositories, on both engines. SQLite ignores the option. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect, type Database, Field, Record, type Repository } from '../../src/index.js'
import type { Class } from '../public-types.js'
import { startBothEngines } from './both-engines.js'
import { LogEvent, LogNote, LogReading, noonOf, partitioned } from './partitioned-log.js'

const engines = await startBothEngines()

describe.each(engines)('a record partitioned by time on %s', (_name, open) => {
  let database: Database
  let events: Repository<LogEvent>
  let readings: Repository<LogReading>

  beforeAll(async () => {
    database = await connect(await open(), { records: partitioned })
    await database.sync()
    events = database.records(LogEvent)
    readings = database.records(LogReading)
  })
  afterAll(() => database.close())

  it('gets a key of version 7 that begins with the time of the row', async () => {
    const at = noonOf(3, 1)
    const first = await events.create({ title: 'first', at })
    const second = await events.create({ title: 'second', at })
    const time = Date.parse(at).toString(16).padStart(12, '0')
    expect(first.id.replace(/-/g, '').slice(0, 13)).toBe(`${time}7`)
    expect(second.id > first.id).toBe(true)
    expect(await events.find(first.id)).toEqual({ id: first.id, title: 'first', at })
    const { id, at: now } = await events.create({ title: 'now' })
    expect(id.replace(/-/g, '').slice(0, 12)).toBe(Date.parse(now).toString(16).padStart(12, '0'))
  })

  it('is found by key, changed, upserted and deleted', async () => {
    const { id } = await events.create({ title: 'one', at: noonOf(4) })
    expect(await events.update(id, { title: 'uno' })).toMatchObject({ id, title: 'uno' })
    expect(await events.update(id, { title: 'due', at: noonOf(4) })).toMatchObject({ title: 'due' })
    expect(await events.updateWhere({ title: 'due' }, { title: 'tre' })).toBe(1)
    expect(await events.updateMany([{ id, title: 'many' }])).toMatchObject([{ title: 'many' }])
    expect(await events.delete(id)).toBe(true)
    expect(await events.find(id)).toBeNull()
  })

  it('never moves in time', async () => {
    const { id } = await events.create({ title: 'one', at: noonOf(5) })
    const refused = { status: 400, errors: [{ path: 'at', code: 'readOnly' }] }
    await expect(events.update(id, { at: noonOf(6) })).rejects.toMatchObject(refused)
    await expect(events.updateMany([{ id, at: noonOf(6) }])).rejects.toMatchObject({ status: 400 })
    await expect(events.updateWhere({ id }, { at: noonOf(6) })).rejects.toMatchObject(refused)
    await expect(readings.updateWhere({ sensor: 'x' }, { at: noonOf(6) })).rejects.toMatchObject(
      refused,
    )
    await expect(
      events.create({ title: 'old', at: '1969-12-31T00:00:00.000Z' }),
    ).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'at', code: 'min' }],
    })
  })

  it('keeps a key that a program gives, if it begins with the time', async () => {
    const at = noonOf(7)
    const time = Date.parse(at).toString(16).padStart(12, '0')
    const id = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000001`
    await events.insertMany([{ id, title: 'given', at }])
    expect(await events.find(id)).toMatchObject({ at })
    await expect(events.insertMany([{ id, title: 'given', at: noonOf(8) }])).rejects.toMatchObject({
      status: 400,
    })
  })

  it('lists by ranges of the time', async () => {
    const days = [10, 11, 12, 13]
    for (const day of days) await events.create({ title: `day ${day}`, at: noonOf(day) })
    const titlesOf = async (at: object | string): Promise<string[]> => {
      const rows = await events.list({ where: { at, title: { startsWith: 'day ' } } })
      return rows.map(({ title }) => title)
    }
    const [, second, third] = days.map((day) => noonOf(day)) as [string, string, string, string]
    expect(await titlesOf({ gte: second, lt: third })).toEqual(['day 11'])
    expect(await titlesOf({ gt: second, lte: third })).toEqual(['day 12'])
    expect(await titlesOf(second)).toEqual(['day 11'])
    const notLater = await events.list({
      where: { not: { at: { gt: second } }, title: { startsWith: 'day ' } },
    })
    expect(notLater.map(({ title }) => title)).toEqual(['day 10', 'day 11'])
    expect(await titlesOf({ ne: second })).toEqual(['day 10', 'day 12', 'day 13'])
    expect(await titlesOf({ lt: '1960-01-01T00:00:00.000Z' })).toEqual([])
    expect(await titlesOf({ gte: '1960-01-01T00:00:00.000Z' })).toHaveLength(4)
  })

  it('has relations', async () => {
    const { id } = await events.create({
      title: 'noted',
      at: noonOf(15),
      notes: { create: [{ text: 'a' }] },
    })
    const notes = database.records(LogNote)
    await notes.create({ text: 'b', logEventId: id })
    expect(await notes.list({ where: { logEvent: { at: noonOf(15) } } })).toHaveLength(2)
    expect(await events.find(id, { with: ['notes'] })).toMatchObject({
      notes: [{ text: 'a' }, { text: 'b' }],
    })
    expect(await events.delete(id)).toBe(true)
    expect(await notes.count()).toBe(0)
  })

  it('may have the time in its key', async () => {
    const key = { sensor: 'a', at: new Date().toISOString() }
    await readings.create({ ...key, value: 1 })
    expect(await readings.find(key)).toEqual({ ...key, value: 1 })
    expect(await readings.update(key, { value: 2 })).toMatchObject({ value: 2 })
    expect(await readings.upsert({ ...key, value: 3 }, { by: ['sensor', 'at'] })).toMatchObject({
      value: 3,
    })
    await readings.updateMany([{ ...key, value: 4 }])
    expect(await readings.list({ where: { at: { gte: key.at } } })).toMatchObject([{ value: 4 }])
    expect(await readings.delete(key)).toBe(true)
  })

  it('needs no change of the schema once it exists', async () => {
    expect(await database.differences()).toEqual([])
  })
})

describe('the start refuses', () => {
  const partitionBy = { field: 'at', every: 'month' } as const

  async function problemOf(type: Class): Promise<string> {
    const error: unknown = await connect('sqlite::memory:', { records: [type] }).catch(
      (reason: unknown) => reason,
    )
    return (error as Error).message
  }

  it('options that no table can have', async () => {
    class Base {
      @Field('id', { key: 'uuid' }) id!: string
      @Field('datetime') at!: string
    }
    const declare = (options: object, add: (type: Class) => void = () => undefined): Class => {
      class Log extends Base {}
      add(Log)
      Record(options as never)(Log)
      return Log
    }
    const given: [options: object, message: string][] = [
      [{ field: 'att', every: 'month' }, 'names "att", which is not a field.'],
      [{ field: 'at', every: 'months' }, `Did you mean "month"? Write 'hour', 'day'`],
      [{ field: 'at' }, 'every'],
      [{ field: 'at', every: 'month', keep: '24m' }, "Write '90d', '24mo' or '2y'."],
      [{ field: 'id', every: 'month' }, 'names "id", which is not of kind "datetime"'],
      [{ field: 'at', every: 'month', keeps: '1y' }, 'keep'],
    ]
    for (const [options, message] of given)
      expect(await problemOf(declare({ partitionBy: options }))).toContain(message)
    expect(await problemOf(declare({ partitionBy, managed: false }))).toContain('partitionBy needs')
    const long = declare({ partitionBy, table: 'a'.repeat(50) })
    expect(await problemOf(long)).toContain('at most 49 characters')
  })

  it('keys and unique values without the time', async () => {
    @Record({ partitionBy })
    class Counted {
      @Field('id') id!: number
      @Field('datetime') at!: string
    }
    @Record({ partitionBy })
    class Loose {
      @Field('id', { key: 'uuid' }) id!: string
      @Field('datetime', { nullable: true }) at!: string | null
    }
    @Record({ partitionBy })
    class Unique {
      @Field('id', { key: 'uuid' }) id!: string
      @Field('datetime') at!: string
      @Field('string', { unique: true }) code!: string
    }
    @Record({ partitionBy, key: ['sensor', 'at'] })
    class Keyed {
      @Field('string') sensor!: string
      @Field('datetime') at!: string
      @Field('string', { unique: true }) code!: string
    }
    @Record({ partitionBy, shardBy: 'tenantId' })
    class Sharded {
      @Field('id', { key: 'uuid' }) id!: string
      @Field('datetime') at!: string
      @Field('integer') tenantId!: number
    }
    expect(await problemOf(Counted)).toContain("Write @Field('id', { key: 'uuid' })")
    expect(await problemOf(Loose)).toContain('names "at", which may be null')
    expect(await problemOf(Unique)).toContain('code cannot be unique')
    expect(await problemOf(Keyed)).toContain("[{ fields: ['code', 'at'], unique: true }]")
    expect(await problemOf(Sharded)).toContain('partitionBy cannot be combined with shardBy')
  })
})
