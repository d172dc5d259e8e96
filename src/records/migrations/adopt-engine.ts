/**
 * Writes the first migration of an engine for a project that has migrations for another one. It makes everything that the
 * existing migrations make, and has the version of the newest of them:
 *
 * ```sql
 * -- filigree: contains all migrations until 20261121100300_fill-labels
 * -- Table lamp is missing.
 * create table "lamp" (…);
 * ```
 */
import type { Dialect } from '../../engines/contract/dialect.js'
import type { Database } from '../database.js'
import type { Table } from '../model/table.js'
import type { Difference } from '../schema/difference-kinds.js'
import { findDifferences, managedSchemas } from '../schema/difference.js'
import { toSchema } from '../schema/schema.js'
import { isOwn, markAsApplied } from './make-migration.js'
import { chooseDialects, readBase, readContained } from './migration-base.js'
import {
  migrationError,
  readMigrations,
  toContainsLine,
  toFileName,
  writeMigrationFile,
} from './migration-files.js'
import { needsMigration, writeMigration } from './migration-text.js'
import { checkMigrations, defaultFolder, type MigrationOptions } from './migrations.js'
import { toCatalogue, writeSnapshot } from './schema-snapshot.js'

export interface AdoptedEngine {
  /** The path of the migration. */
  readonly files: readonly string[]
  /** Names of migrations that the connected database has already, because the start has made its tables. */
  readonly applied: readonly string[]
  /** What the migration does not contain, a sentence for each. */
  readonly warnings: readonly string[]
}

interface AdoptOptions extends MigrationOptions {
  /** The name of the new engine. */
  readonly engine: string
  /** The database in use, if it is of the new engine. */
  readonly database?: Database | undefined
}

/**
 * @returns `undefined` if the engine has all migrations already
 * @throws {DeclarationError} `MIGRATION_FAILED` if no engine has migrations, or they do not fit the records;
 * `MIGRATION_MISSING` if the engine has some of them
 */
export async function adoptEngine(
  tables: Iterable<Table>,
  { engine, database, folder = defaultFolder, now = Date.now }: AdoptOptions,
): Promise<AdoptedEngine | undefined> {
  const all = [...tables]
  const [dialect] = chooseDialects([engine])
  if (dialect === undefined) return undefined
  const { sqlFiles, missing, engines } = await readMigrations(folder, engine)
  const [lacking] = missing
  if (sqlFiles.length > 0) {
    if (lacking === undefined) return undefined
    throw migrationError(
      'MIGRATION_MISSING',
      `There are migrations for ${dialect.product.title}, but not ${toFileName(lacking, engine)}.`,
      'Write it next to the other one. If this engine needs no changes, a comment is enough.',
    )
  }
  if (lacking === undefined)
    throw migrationError(
      'MIGRATION_FAILED',
      'There are no migrations yet.',
      `Write "${engine}" into filigree.engines of package.json if it has that list, then run filigree migrate make <name>.`,
    )
  await checkOthers(all, folder, [...engines])
  const name = missing.at(-1) ?? lacking
  const contains = (await readContained(folder, dialect)) ?? name
  const time = now()
  const schemas = managedSchemas(toSchema(all, dialect, time))
  const differences = findDifferences(schemas, new Map(), dialect, { isExact: true })
  const { text } = writeMigration(differences, [], dialect)
  const file = await writeMigrationFile(folder, name, engine, toContainsLine(contains) + text)
  if (dialect.tables.replay === undefined) await writeSnapshot(folder, engine, toCatalogue(schemas))
  const isMade = database !== undefined && !needsMigration(await readManaged(database))
  return {
    files: [file],
    applied: isMade ? await markAsApplied({ database, folder, now: time }) : [],
    warnings: await findNotContained(all, folder, [...engines]),
  }
}

async function readManaged(database: Database): Promise<Difference[]> {
  const differences = await database.differences()
  return differences.filter(({ isManaged }) => isManaged !== false)
}

/** @throws {DeclarationError} `MIGRATION_FAILED` if the existing migrations do not lead to the records */
async function checkOthers(
  tables: readonly Table[],
  folder: string,
  engines: readonly string[],
): Promise<void> {
  const found = await checkMigrations(tables, { folder, engines })
  if (found.length === 0) return
  throw migrationError(
    'MIGRATION_FAILED',
    `The migrations do not fit the records: ${found.join(' ')}`,
    'Run filigree migrate make <name> first.',
  )
}

/** Changes of rows and tables that are not made from the records. */
async function findNotContained(
  tables: readonly Table[],
  folder: string,
  engines: readonly string[],
): Promise<string[]> {
  const warnings: string[] = []
  for (const dialect of chooseDialects(engines)) {
    const { sqlFiles, codeFiles } = await readMigrations(folder, dialect.name)
    const ofUser = sqlFiles.filter((file) => isOwn(file, dialect)).map(({ name }) => name)
    for (const name of [...ofUser, ...codeFiles.map((file) => file.name)].sort())
      warnings.push(
        `${name} does not run on the new engine. filigree copy copies the rows that it has written.`,
      )
    for (const name of await findForeignTables(tables, folder, dialect))
      warnings.push(`Table ${name} does not belong to a record, so the new engine does not get it.`)
  }
  return [...new Set(warnings)]
}

async function findForeignTables(
  tables: readonly Table[],
  folder: string,
  dialect: Dialect,
): Promise<string[]> {
  const names = new Set(toSchema(tables, dialect, 0).map(({ name }) => name))
  const base = (await readBase(folder, dialect)) ?? new Map<string, unknown>()
  return [...base.keys()].filter((name) => !names.has(name) && !name.startsWith('filigree_'))
}
