/** Migrations with statements of the user, in a database whose tables the start has already changed. */
import { readFile, writeFile } from 'node:fs/promises'
import { describe, expect, it } from '@jest/globals'
import { Field, Record } from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import {
  makeEmptyMigration,
  makeMigration,
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

@Record
class Chair {
  @Field('id') id!: number
}

const update = "update lamp set name = 'create table';"

describe.each(await startBothEngines())('statements of the user on %s', (name, openUrl) => {
  const migrations = useMigrations()
  const engine = name === 'SQLite' ? 'sqlite' : 'postgres'

  it.each([
    ['below the first line of the file', (text: string) => text.replace('\n\n', `\n${update}\n`)],
    ['in a file without comments', () => update],
  ])('stay pending when make finds the tables changed: %s', async (_place, write) => {
    const database = await migrations.open(await openUrl(), Lamp)
    await database.sync()
    await database.records(Lamp).create({ name: 'old' })
    await makeMigration(database, 'lamps', migrations.optionsAt(0))
    const files = await makeEmptyMigration('fill', migrations.optionsAt(1))
    const file = files.find((one) => one.includes(engine)) ?? ''
    await writeFile(file, write(await readFile(file, 'utf8')))
    setRecords(database, Lamp, Chair)
    await database.sync()
    const made = await makeMigration(database, 'chairs', migrations.optionsAt(2))
    expect(made?.applied).toEqual([expect.stringMatching(/_chairs$/)])
    const { folder } = migrations
    const states = await migrationStatus(database, { folder })
    expect(states.map(({ state }) => state)).toEqual(['applied', 'pending', 'applied'])
    expect(await migrateUp(database, { folder })).toEqual([expect.stringMatching(/_fill$/)])
    expect((await database.records(Lamp).list()).map((lamp) => lamp.name)).toEqual(['create table'])
  })

  it('stay pending while the file has none', async () => {
    const database = await migrations.open(await openUrl(), Lamp)
    await database.sync()
    await makeMigration(database, 'lamps', migrations.optionsAt(0))
    await makeEmptyMigration('fill', migrations.optionsAt(1))
    setRecords(database, Lamp, Chair)
    await database.sync()
    await makeMigration(database, 'chairs', migrations.optionsAt(2))
    const states = await migrationStatus(database, { folder: migrations.folder })
    expect(states.map(({ state }) => state)).toEqual(['applied', 'pending', 'applied'])
  })
})
