/** A project that adds an engine later. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { BelongsTo, Field, Record, type Rel } from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import { failure } from './failure.js'
import {
  adoptEngine,
  checkMigrations,
  makeEmptyMigration,
  makeMigration,
  migrateDown,
  migrateUp,
  migrationStatus,
  setRecords,
  useMigrations,
} from './migration-helpers.js'

@Record
class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record({ table: 'lamp' })
class PricedLamp {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('decimal', { precision: 12, scale: 2, default: '0' }) price!: string
}

@Record
class Bulb {
  @Field('id') id!: number
  @Field('integer') lampId!: number
  @BelongsTo(() => PricedLamp) lamp!: Rel<PricedLamp>
}

const migrations = useMigrations()
const [sqlite, postgres] = await startBothEngines()
const directions = [
  { from: sqlite, to: postgres, engine: 'postgres', other: 'sqlite' },
  { from: postgres, to: sqlite, engine: 'sqlite', other: 'postgres' },
]

describe.each(directions)('adopting $engine', ({ from, to, engine, other }) => {
  const openEmpty = async (side: typeof from, ...records: Parameters<typeof setRecords>[1][]) =>
    migrations.open((await side?.[1]()) ?? '', ...records)
  const engines = [other]

  it('writes one migration with the version of the newest, and later migrations for both', async () => {
    const { folder, optionsAt } = migrations
    const source = await openEmpty(from, Lamp)
    await makeMigration(source, 'lamps', { ...optionsAt(0), engines })
    await migrateUp(source, { folder })
    setRecords(source, PricedLamp)
    await makeMigration(source, 'prices', { ...optionsAt(1), engines })
    await writeFile(
      join(folder, '20261121100200_fill.mjs'),
      'export const up = async ({ sql }) => { await sql`update lamp set old = 1` }\n',
    )
    const name = '20261121100100_prices'
    const target = await openEmpty(to, PricedLamp)
    expect(await adoptEngine(target, engine, optionsAt(3))).toEqual({
      files: [join(folder, `${name}.${engine}.sql`)],
      applied: [],
      warnings: [expect.stringContaining('20261121100200_fill does not run on the new engine.')],
    })
    const files = await readdir(folder)
    expect(await adoptEngine(target, engine, optionsAt(4))).toBeUndefined()
    expect(await readdir(folder)).toEqual(files)
    expect(await readFile(join(folder, `${name}.${engine}.sql`), 'utf8')).toMatch(
      /^-- filigree: contains all migrations until 20261121100200_fill\n/,
    )

    expect(await migrateUp(target, { folder })).toEqual([name])
    await target.verify()
    expect(await migrationStatus(target, { folder })).toMatchObject([{ name, state: 'applied' }])
    setRecords(target, PricedLamp, Bulb)
    expect(await checkMigrations(target, { folder, engines: undefined })).toEqual(
      expect.arrayContaining([
        'SQLite: Table bulb is missing.',
        'PostgreSQL: Table bulb is missing.',
      ]),
    )
    await makeMigration(target, 'bulbs', optionsAt(5))
    expect(await migrateUp(target, { folder })).toEqual(['20261121100500_bulbs'])
    expect(await checkMigrations(target, { folder, engines: undefined })).toEqual([])
    expect(await migrateDown(target, { folder, steps: 5 })).toEqual(['20261121100500_bulbs', name])
  })

  it('names statements of the user and tables without a record', async () => {
    const { folder, optionsAt } = migrations
    const source = await openEmpty(from, PricedLamp, Bulb)
    await makeMigration(source, 'lamps', { ...optionsAt(0), engines })
    await makeEmptyMigration('own', { ...optionsAt(1), engines })
    setRecords(source, PricedLamp)
    const { warnings = [] } = (await adoptEngine(source, engine, { folder })) ?? {}
    expect(warnings).toEqual([
      expect.stringMatching(/^20261121100100_own does not run/),
      'Table bulb does not belong to a record, so the new engine does not get it.',
    ])
  })

  it('requires migrations that fit the records', async () => {
    const { folder, optionsAt } = migrations
    const source = await openEmpty(from, Lamp)
    expect((await failure(adoptEngine(source, engine, { folder }))).message).toContain(
      'There are no migrations yet.',
    )
    await makeMigration(source, 'lamps', { ...optionsAt(0), engines })
    setRecords(source, PricedLamp)
    expect((await failure(adoptEngine(source, engine, { folder }))).message).toContain(
      'lamp.price is missing (PricedLamp.price).  Run filigree migrate make <name> first.',
    )
  })

  it('is followed by make after an empty migration as the very first', async () => {
    const { folder, optionsAt } = migrations
    const database = await openEmpty(to, PricedLamp)
    await makeEmptyMigration('own', optionsAt(0))
    await makeMigration(database, 'lamps', optionsAt(1))
    expect(await migrateUp(database, { folder })).toHaveLength(2)
    await database.verify()
  })
})
