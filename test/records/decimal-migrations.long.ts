/** Migrations that turn a field into a decimal or change its scale keep the values. */
import { connect, type Database } from '../../src/index.js'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { startBothEngines } from './both-engines.js'
import { thing, type Fields } from './thing.js'
import {
  makeMigration,
  migrateDown,
  migrateUp,
  migrationOptions,
  setRecords,
} from './migration-helpers.js'

const engines = await startBothEngines()

let folder: string
let database: Database
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-decimals-'))
})
afterEach(async () => {
  await database.close()
  await rm(folder, { recursive: true })
})

const optionsAt = (minute: number) => migrationOptions(folder, minute)
const setFields = (fields: Fields): ReturnType<typeof thing> => {
  const type = thing(fields)
  setRecords(database, type)
  return type
}
const decimal = (precision: number, scale: number): Fields[string] => [
  'decimal',
  { precision, scale, nullable: true },
]

const values = ['0.25', '-3.5', '12', null]
type Step = [string, Fields[string], Fields[string], (string | number | null)[]]
const steps: Step[] = [
  ['a double', ['numeric', { nullable: true }], decimal(12, 2), ['0.25', '-3.50', '12.00', null]],
  ['text', ['string', { nullable: true }], decimal(12, 2), ['0.25', '-3.50', '12.00', null]],
  ['more places', decimal(12, 2), decimal(12, 3), ['0.250', '-3.500', '12.000', null]],
  [
    'decimal places for a whole number',
    decimal(12, 0),
    decimal(12, 2),
    ['0.00', '-4.00', '12.00', null],
  ],
  ['many digits', decimal(12, 2), decimal(30, 4), ['0.2500', '-3.5000', '12.0000', null]],
]
/** On PostgreSQL these need no migration, because its numeric column fits already. */
const narrower: Step[] = [
  ['fewer places', decimal(12, 2), decimal(12, 1), ['0.3', '-3.5', '12.0', null]],
  ['no places', decimal(12, 2), decimal(12, 0), ['0', '-4', '12', null]],
  ['fewer digits', decimal(30, 4), decimal(12, 2), ['0.25', '-3.50', '12.00', null]],
  [
    'a decimal to a double',
    decimal(12, 2),
    ['numeric', { nullable: true }],
    [0.25, -3.5, 12, null],
  ],
]

describe.each(engines)('migrating a field to or from decimal: %s', (name, address) => {
  it.each(name === 'SQLite' ? [...steps, ...narrower] : steps)(
    '%s',
    async (_what, before, after, expected) => {
      database = await connect(await address())
      const old = setFields({ price: before })
      await makeMigration(database, 'first', optionsAt(0))
      await migrateUp(database, optionsAt(0))
      const isInteger = before[0] === 'decimal' && before[1]?.scale === 0
      for (const text of values) {
        const integer = text === '0.25' ? '0' : text === '-3.5' ? '-4' : text
        const price =
          before[0] === 'numeric' && text !== null ? Number(text) : isInteger ? integer : text
        await database.records(old).create({ price })
      }
      const type = setFields({ price: after })
      await expect(database.verify()).rejects.toThrow('thing.price is of type')
      await makeMigration(database, 'second', optionsAt(1))
      await migrateUp(database, optionsAt(1))
      await database.verify()
      expect(await database.differences()).toEqual([])
      const rows: { price?: unknown }[] = await database
        .records(type)
        .list({ orderBy: { id: 'asc' } })
      expect(rows.map(({ price }) => price)).toEqual(expected)
    },
  )

  it('fails when a value is not a number', async () => {
    database = await connect(await address())
    const before = setFields({ price: ['string'] })
    await makeMigration(database, 'first', optionsAt(0))
    await migrateUp(database, optionsAt(0))
    await database.records(before).create({ price: 'much' })
    setFields({ price: ['decimal', { precision: 12, scale: 2 }] })
    await makeMigration(database, 'second', optionsAt(1))
    await expect(migrateUp(database, optionsAt(1))).rejects.toThrow(/much/)
    const rows = await sql`select price from thing`.execute(database.kysely)
    expect(rows.rows).toEqual([{ price: 'much' }])
  })

  it('ignores a change of the maximum digits', async () => {
    database = await connect(await address())
    const old = setFields({ price: decimal(6, 2) })
    await makeMigration(database, 'first', optionsAt(0))
    await migrateUp(database, optionsAt(0))
    await database.records(old).create({ price: '1234.50' })
    const type = setFields({ price: decimal(12, 2) })
    await database.verify()
    const migration = await makeMigration(database, 'second', optionsAt(1))
    expect(migration?.warnings ?? []).toEqual([])
    await migrateUp(database, optionsAt(1))
    expect(await database.records(type).create({ price: '1234567890.50' })).toMatchObject({
      price: '1234567890.50',
    })
    setFields({ price: decimal(4, 2) })
    expect(await database.differences()).toEqual([])
  })
})

describe('migrateDown', () => {
  const [, address] = engines[1] as (typeof engines)[number]

  it('reverts a renamed field together with a changed rule', async () => {
    database = await connect(await address())
    const old = setFields({ title: ['string', { maxLength: 80 }] })
    await makeMigration(database, 'first', optionsAt(0))
    await migrateUp(database, optionsAt(0))
    await database.records(old).create({ title: 'One' })
    setFields({ name: ['string', { maxLength: 60, was: 'title' }] })
    await makeMigration(database, 'second', optionsAt(1))
    await migrateUp(database, optionsAt(1))
    await migrateDown(database, optionsAt(1))
    expect((await sql`select title from thing`.execute(database.kysely)).rows).toEqual([
      { title: 'One' },
    ])
    await migrateUp(database, optionsAt(1))
    await database.verify()
  })
})
