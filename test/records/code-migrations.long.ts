/** Migrations in code on both engines: transactions, batches, `down`, checksums and mistakes. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { BelongsTo, Field, Record, type Database, type Rel } from '../../src/index.js'
import { failure } from './failure.js'
import { startBothEngines } from './both-engines.js'
import {
  checkMigrations,
  makeMigration,
  migrateDown,
  migrateUp,
  migrationStatus,
  useMigrations,
} from './migration-helpers.js'

@Record
class Crate {
  @Field('id') id!: number
  @Field('string') code!: string
}

@Record
class Part {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('decimal', { optional: true, scale: 2 }) price?: string | null
  @Field('integer', { optional: true }) crateId?: number | null
  @BelongsTo(() => Crate, { onDelete: 'cascade' }) crate?: Rel<Crate> | null
}

describe.each(await startBothEngines())('a migration in code on %s', (_name, emptyDatabase) => {
  const migrations = useMigrations()

  /** @returns a database whose tables exist, with a number of parts */
  const open = async (parts = 0): Promise<Database> => {
    const database = await migrations.open(await emptyDatabase(), Part, Crate)
    await makeMigration(database, 'first', migrations.optionsAt(0))
    await migrateUp(database, migrations.optionsAt(0))
    const rows = Array.from({ length: parts }, (_, index) => ({ name: `part ${index + 1}` }))
    await database.records(Part).insertMany(rows)
    return database
  }
  const write = (name: string, text: string): Promise<void> =>
    writeFile(join(migrations.folder, name), text)
  const up = (database: Database, options: object = {}): Promise<string[]> =>
    migrateUp(database, { ...migrations.optionsAt(5), ...options })
  const down = (database: Database): Promise<string[]> =>
    migrateDown(database, migrations.optionsAt(5))
  const names = async (database: Database): Promise<string[]> =>
    (await database.records(Part).list({ orderBy: { id: 'asc' } })).map(({ name }) => name)

  it('runs once in the order of the names, and is undone', async () => {
    const database = await open(2)
    await write(
      '20261201000000_fill.ts',
      `export const up = async ({ sql }) => {
        const { count } = await sql\`update part set name = upper(name) where id > \${0}\`
        if (count !== 2) throw new Error('count is ' + count)
      }
      export const down = async ({ database }) => {
        const rows = await database.kysely.selectFrom('part').select(['id', 'name']).execute()
        for (const { id, name } of rows)
          await database.kysely.updateTable('part').set({ name: name.toLowerCase() }).where('id', '=', id).execute()
      }`,
    )
    await write('helpers.ts', 'export const unrelated = 1')
    expect((await migrationStatus(database, migrations.optionsAt(5))).at(-1)).toMatchObject({
      name: '20261201000000_fill',
      state: 'pending',
    })
    expect(await up(database)).toEqual(['20261201000000_fill'])
    expect(await up(database)).toEqual([])
    expect(await names(database)).toEqual(['PART 1', 'PART 2'])
    expect(await down(database)).toEqual(['20261201000000_fill'])
    expect(await names(database)).toEqual(['part 1', 'part 2'])
  })

  it('leaves no changes if it fails, and names the line', async () => {
    const database = await open(1)
    await write(
      '20261201000000_fail.ts',
      `export const up = async ({ sql, database }) => {
  await sql\`update part set name = 'changed'\`
  await database.transaction(async () => { throw new Error('no price list.') }).catch(() => undefined)
  throw new Error('no price list.')
}`,
    )
    expect((await failure(up(database))).message).toMatch(
      /Migration 20261201000000_fail, line 4: no price list\.\s+Correct it\. It has changed nothing\./,
    )
    expect(await names(database)).toEqual(['part 1'])
  })

  it('writes with repositories, and enforces references', async () => {
    const database = await open()
    const crate = await database.records(Crate).create({ code: 'a' })
    await database.records(Part).create({ name: 'in a', crateId: crate.id })
    await write(
      '20261201000000_drop.ts',
      "export const up = async ({ sql }) => { await sql`delete from crate where code = ${'a'}` }",
    )
    await up(database)
    expect(await names(database)).toEqual([])
  })

  it('is refused after it was changed', async () => {
    const database = await open()
    await write('20261201000000_one.ts', 'export const up = () => undefined')
    await up(database)
    await write('20261201000000_one.ts', 'export const up = () => 1')
    expect((await failure(up(database))).message).toMatch(/was changed after it ran/)
    expect((await migrationStatus(database, migrations.optionsAt(5))).at(-1)?.state).toBe(
      'changed after it was applied',
    )
  })

  it('cannot be undone without down, or without its file', async () => {
    const database = await open()
    await write('20261201000000_one.ts', 'export const up = () => undefined')
    await up(database)
    expect((await failure(down(database))).message).toMatch(
      /does not say how to undo it\.\s+Export a function down/,
    )
    await rm(join(migrations.folder, '20261201000000_one.ts'))
    expect((await failure(down(database))).message).toMatch(/its file is missing/)
  })

  it.each([
    ['export const down = () => 1', /the function up is missing/],
    [
      'export const up = () => 1\nexport const dwon = () => 1',
      /unknown export \\?"dwon\\?"\.\s+Did you mean "down"\?/,
    ],
    [
      'export const up = () => 1\nexport const batches = { tabel: "part" }',
      /unknown option "tabel"/,
    ],
    [
      'export const up = () => 1\nexport const batches = { table: "parts" }',
      /table "parts" of batches does not exist/,
    ],
    ['throw new Error("broken")', /cannot be loaded: broken/],
  ])('is refused with a mistake: %s', async (text, message) => {
    const database = await open()
    await write('20261201000000_wrong.ts', text)
    expect((await failure(up(database))).message).toMatch(message)
  })

  it('is loaded by check, and does not count as a difference', async () => {
    const database = await open()
    const options = { folder: migrations.folder, engines: undefined }
    await write('20261201000000_one.ts', 'export const up = () => 1')
    expect(await checkMigrations(database, options)).toEqual([])
    await write('20261201000000_two.ts', 'export const down = () => 1')
    expect((await failure(checkMigrations(database, options))).message).toMatch(/up is missing/)
  })

  it('runs in batches, which go on after an interruption', async () => {
    const database = await open(25)
    const text = (limit: number): string => `export const batches = { table: 'part', size: 10 }
      export const up = async ({ rows, sql }) => {
        for (const { id, name } of rows) {
          if (id > ${limit}) throw new Error('interrupted')
          await sql\`update part set name = \${name + '!'} where id = \${id}\`
        }
      }
      export const down = async ({ rows, sql }) => {
        for (const { id, name } of rows)
          await sql\`update part set name = \${name.slice(0, -1)} where id = \${id}\`
      }`
    await write('20261201000000_mark.ts', text(15))
    const seen: unknown[] = []
    const onProgress = (name: string, done: number, total: number | undefined): void => {
      seen.push([name, done, total])
    }
    expect((await failure(up(database, { onProgress }))).message).toMatch(
      /interrupted\.\s+Correct it, and run migrate up again\. It goes on after the last finished batch/,
    )
    expect((await names(database)).filter((name) => name.endsWith('!'))).toHaveLength(10)
    // A new name, because Node.js loads a module once.
    await rm(join(migrations.folder, '20261201000000_mark.ts'))
    await write('20261201000000_mark.mjs', text(100))
    expect(await up(database, { onProgress })).toEqual(['20261201000000_mark'])
    expect(seen).toEqual([
      ['20261201000000_mark', 10, 25],
      ['20261201000000_mark', 20, 25],
      ['20261201000000_mark', 25, 25],
    ])
    expect(new Set((await names(database)).map((name) => name.replace(/^part \d+/, '')))).toEqual(
      new Set(['!']),
    )
    await down(database)
    expect((await names(database)).some((name) => name.includes('!'))).toBe(false)
  })

  it('runs once where two processes migrate at the same time', async () => {
    const database = await open(30)
    await write(
      '20261201000000_mark.ts',
      `export const batches = { table: 'part', size: 4 }
      export const up = async ({ rows, sql }) => {
        for (const { id, name } of rows)
          await sql\`update part set name = \${name + '!'} where id = \${id}\`
      }`,
    )
    const ran = await Promise.all([up(database), up(database)])
    expect(ran.flat()).toEqual(['20261201000000_mark'])
    expect((await names(database)).every((name) => /\d!$/.test(name))).toBe(true)
  })
})
