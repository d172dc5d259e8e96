/**
 * Migrations for every option that affects a table, and `down` restores the previous schema. Random sequences of changes are
 * migrated, compared with the database, reverted and compared again.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { connect, type Database } from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import { runSql } from './run-sql.js'
import { rounds, seed } from '../random.js'
import type { KindName } from '../public-types.js'
import { changes, Owner, toClass, type Rules, type Version } from './schema-versions.js'
import { engineOf, internalsOf } from './open-database.js'
import {
  checkMigrations,
  makeMigration,
  migrateDown,
  migrateUp,
  migrationOptions,
} from './migration-helpers.js'

let folder: string
let database: Database
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-ways-'))
})
afterEach(async () => {
  await database.close()
  await rm(folder, { recursive: true, force: true })
})

const setVersion = (version: Version): void => {
  internalsOf(database).tables.clear()
  // The database does not add a cached table again, so add both here.
  for (const type of [toClass(version), Owner])
    internalsOf(database).tables.add(internalsOf(database).table(type))
}
const optionsAt = (minute: number) => migrationOptions(folder, minute)
/** The table's schema in the database, in a stable order. */
const schemaOf = async (database: Database): Promise<unknown> => {
  const engine = engineOf(database)
  const table = (await engine.schema.catalogue(engine)).get('thing')
  if (table === undefined) return undefined
  const byName = (map: ReadonlyMap<string, unknown> | undefined): unknown =>
    Object.fromEntries([...(map ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)))
  return {
    primaryKey: table.primaryKey,
    columns: byName(table.columns),
    indexes: byName(table.indexes),
    checks: byName(table.checks),
    foreignKeys: [...table.foreignKeys].sort((a, b) =>
      a.columns.join() < b.columns.join() ? -1 : 1,
    ),
  }
}
/** What checkMigrations, differences, makeMigration and sync still want to change. */
const isSettled = async (): Promise<unknown> => ({
  check: await checkMigrations(database, { folder, engines: undefined }),
  differences: (await database.differences())
    .filter(({ kind }) => kind !== 'unknown column')
    .map(({ message }) => message),
  make: await makeMigration(database, 'nothing', optionsAt(59)),
  sync: await database.sync(),
})
const settled = { check: [], differences: [], make: undefined, sync: [] }

/** The number of random sequences per engine. */
const runs = rounds(2)

const kinds: fc.Arbitrary<readonly [KindName, Rules]> = fc.constantFrom<
  (readonly [KindName, Rules])[]
>(
  ['string', {}],
  ['string', { default: 'a', maxLength: 9 }],
  ['string', { nullable: true, oneOf: ['a', 'b'] }],
  ['integer', { min: 1, default: 2 }],
  ['integer', { optional: true }],
  ['decimal', { scale: 2, default: '1.50', max: '9' }],
  ['decimal', { scale: 4, precision: 30 }],
  ['datetime', { default: 'now' }],
  ['date', { nullable: true }],
  ['boolean', { default: true }],
  ['uuid', {}],
)

/** Random versions of the class. A field may be renamed, left out, or belong to an Owner. */
const versions: fc.Arbitrary<Version> = fc
  .record({
    name: fc.constantFrom<(readonly [string, string?])[]>(['name'], ['title', 'name']),
    kind: kinds,
    unique: fc.boolean(),
    index: fc.boolean(),
    owner: fc.constantFrom<(Rules | undefined)[]>(
      undefined,
      {},
      { onDelete: 'restrict' },
      { onDelete: 'cascade', unique: true },
      { onDelete: 'setNull', nullable: true, index: false },
    ),
    softDelete: fc.boolean(),
    timestamps: fc.boolean(),
    descending: fc.boolean(),
  })
  .map(({ name: [property, previousName], kind: [kind, rules], owner: rulesOfOwner, ...rest }) => {
    const { unique, index, softDelete, timestamps, descending } = rest
    return {
      fields: {
        [property]: [
          kind,
          { ...rules, unique, index, ...(previousName !== undefined && { was: previousName }) },
        ],
        ...(rulesOfOwner !== undefined && { ownerId: ['integer', rulesOfOwner] as const }),
      },
      options: {
        softDelete,
        timestamps,
        indexes: descending ? [{ fields: [`-${property}`] }] : [],
      },
    }
  })

/** Options that only add columns. Removing the option keeps the columns. */
const additiveOptions: ReadonlySet<string> = new Set(['timestamps', 'version'])

/** Some kinds cannot be converted to each other. Then no migration is made. */
const ignoreRefusal = (error: unknown): undefined => {
  if (!(error instanceof Error) || !error.message.includes('cannot be converted')) throw error
}

describe.each(await startBothEngines())('both directions: %s', (name, address) => {
  let url: string | undefined
  beforeEach(async () => {
    database = await connect((url ??= await address()))
    if (name === 'PostgreSQL') await emptyDatabase()
  })
  const emptyDatabase = async (): Promise<void> => {
    for (const table of ['thing', 'owner', 'filigree_migration'])
      await runSql(database, `drop table if exists ${table}`)
    await rm(folder, { recursive: true, force: true })
  }

  /** Versions to which an empty database was migrated, with the same result each time. */
  const settledVersions = new Set<Version>()

  /** Makes and runs a migration to this version. @returns the new schema, and whether the migration changed it */
  const migrateTo = async (version: Version, minute: number) => {
    setVersion(version)
    const found = await checkMigrations(database, {
      folder,
      engines: undefined,
    })
    const migration = await makeMigration(database, `v${minute}`, optionsAt(minute))
    expect(found.length > 0).toBe(migration !== undefined)
    await migrateUp(database, optionsAt(minute))
    if (minute > 0 || !settledVersions.has(version)) expect(await isSettled()).toEqual(settled)
    if (minute === 0) settledVersions.add(version)
    // SQLite has no timestamp, trigram or decimal types, so some changes do not alter its schema.
    const isChanged = found.some((text) => text.startsWith(`${name}: `))
    return { schema: await schemaOf(database), isChanged, isMade: migration !== undefined }
  }
  const down = async (): Promise<unknown> => {
    await migrateDown(database, optionsAt(0))
    return schemaOf(database)
  }

  it.each(changes)('%s', async (optionName, before, after) => {
    const first = await migrateTo(before, 0)
    const second = await migrateTo(after, 1)
    expect(second.isMade).toBe(true)
    if (second.isChanged) expect(second.schema).not.toEqual(first.schema)
    expect(await down()).toEqual(first.schema)
    await migrateUp(database, optionsAt(1))
    expect(await schemaOf(database)).toEqual(second.schema)
    const third = await migrateTo(before, 2)
    // A column without a field remains.
    expect(third.isMade).toBe(!additiveOptions.has(optionName))
    if (third.isChanged) expect(third.schema).not.toEqual(second.schema)
    if (third.isMade) expect(await down()).toEqual(second.schema)
  })

  it(
    'random sequences of changes can be reverted to each schema',
    async () => {
      const property = fc.asyncProperty(
        fc.array(versions, { minLength: 2, maxLength: 4 }),
        async (list) => {
          await emptyDatabase()
          const schemas: unknown[] = []
          for (const [minute, version] of list.entries()) {
            const migrated = await migrateTo(version, minute).catch(ignoreRefusal)
            if (migrated?.isMade === true) schemas.push(migrated.schema)
          }
          const last = schemas.pop()
          for (const schema of schemas.toReversed()) expect(await down()).toEqual(schema)
          await migrateUp(database, optionsAt(0))
          expect(await schemaOf(database)).toEqual(last)
        },
      )
      await fc.assert(property, { numRuns: runs, seed })
    },
    120_000 * runs,
  )
})
