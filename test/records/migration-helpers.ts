/** Makes and runs migrations on an open database, like `filigree migrate` does in a process of its own. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from '@jest/globals'
import { connect, type Database } from '../../src/index.js'
import * as adopt from '../../src/records/migrations/adopt-engine.js'
import * as make from '../../src/records/migrations/make-migration.js'
import * as run from '../../src/records/migrations/migrations.js'
import type { Class } from '../public-types.js'
import { internalsOf } from './open-database.js'

export { toCheckName } from '../../src/records/model/generated-names.js'

/** @returns options for migrations in `folder`, made at a fixed time. `minute` orders the files. */
export function migrationOptions(
  folder: string,
  minute: number,
): { folder: string; now: () => number } {
  return { folder, now: () => Date.UTC(2026, 10, 21, 10, minute) }
}

/** Gives each test an empty folder for migrations, and closes the databases that it opens. */
export function useMigrations() {
  let folder: string
  const opened: Database[] = []
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filigree-migrations-'))
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()))
    await rm(folder, { recursive: true })
  })
  return {
    get folder() {
      return folder
    },
    open: async (url: string, ...records: Class[]): Promise<Database> => {
      const database = await connect(url, { records })
      opened.push(database)
      return database
    },
    /** Options for migrations made at a fixed time. `minute` orders the files. */
    optionsAt: (minute: number) => migrationOptions(folder, minute),
  }
}

/** Replaces the records of the database, as a new version of the program would. */
export function setRecords(database: Database, ...records: Class[]): void {
  const { tables } = internalsOf(database)
  tables.clear()
  // `table` returns a cached table without adding it again.
  for (const record of records) tables.add(internalsOf(database).table(record))
}

/** `filigree migrate make NAME` */
export function makeMigration(
  database: Database,
  name: string,
  options?: make.MakeOptions,
): Promise<make.MadeMigration | undefined> {
  return make.makeMigration(internalsOf(database), name, options)
}

/** `filigree migrate adopt ENGINE` */
export function adoptEngine(
  database: Database,
  engine: string,
  options: make.MakeOptions = {},
): Promise<adopt.AdoptedEngine | undefined> {
  return adopt.adoptEngine(internalsOf(database).tables, { ...options, engine })
}

/** `filigree migrate make NAME --empty` */
export const { makeEmptyMigration } = make

/** `filigree migrate up` */
export function migrateUp(database: Database, options?: run.MigrateUpOptions): Promise<string[]> {
  return run.migrateUp(internalsOf(database), options)
}

/** `filigree migrate down` */
export function migrateDown(
  database: Database,
  options?: run.MigrationOptions & { steps?: number },
): Promise<string[]> {
  return run.migrateDown(internalsOf(database), options)
}

/** `filigree migrate status` */
export function migrationStatus(
  database: Database,
  options?: run.MigrationOptions,
): Promise<run.MigrationStatus[]> {
  return run.migrationStatus(internalsOf(database), options)
}

/** `filigree migrate check`: the differences between the records of the database and the migrations. */
export function checkMigrations(
  database: Database,
  options: Parameters<typeof run.checkMigrations>[1],
): Promise<string[]> {
  return run.checkMigrations(internalsOf(database).tables, options)
}
