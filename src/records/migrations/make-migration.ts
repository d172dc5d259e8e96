/**
 * Writes a migration for every engine, connected or not: from where the engine's earlier files lead to what the records
 * want.
 */
import {
  migrationFault,
  prepareMigrations,
  readApplied,
  recordMigration,
} from './applied-migrations.js'
import type { Database } from '../database.js'
import type { Difference } from '../schema/difference-kinds.js'
import { findDifferences } from '../schema/difference.js'
import type { Dialect } from '../engines/engine.js'
import { readMigrations, writeMigrationFile } from './migration-files.js'
import { isNeeded, writeMigration } from './migration-text.js'
import { defaultFolder, type MigrationOptions } from './migrations.js'
import { chooseDialects, readBase, withoutSnapshot } from './migration-base.js'
import { toSchema, type TableSchema } from '../schema/schema.js'
import { toCatalogue, writeSnapshot } from './schema-snapshot.js'

export interface MadeMigration {
  /** Paths, in the order in which they run; one for every engine, all to be read first. */
  readonly files: readonly string[]
  /** Names of migrations that the database has already, made by `sync`: from now on they count as applied to it. */
  readonly applied: readonly string[]
  /** What locks a large table, or has to be decided before it runs. */
  readonly warnings: readonly string[]
}

/** What is to be done on an engine. */
interface Step {
  readonly dialect: Dialect
  readonly wanted: readonly TableSchema[]
  readonly differences: readonly Difference[]
  /** Tables that no record has any more. */
  readonly forgotten: readonly string[]
  /** There is no file yet, and the database is neither empty nor as the records want it: it is begun with as it is. */
  readonly isAdopted: boolean
}

export interface MakeOptions extends MigrationOptions {
  /** The engines in use, by their names. Default: all. */
  readonly engines?: readonly string[] | undefined
}

interface Making {
  readonly database: Database
  readonly folder: string
  /** Milliseconds since 1970. */
  readonly now: number
  /** In what the connected database differs from the records. */
  readonly actual: readonly Difference[]
}

/**
 * @param name what it is for, in a few words
 * @returns `undefined` where nothing differs
 * @throws {DeclarationError} `MIGRATION_FAILED` where it cannot be known where the earlier files lead, or where the
 * database is not where they have led
 */
export async function makeMigration(
  database: Database,
  name: string,
  { folder = defaultFolder, now = Date.now, engines }: MakeOptions = {},
): Promise<MadeMigration | undefined> {
  const making = { database, folder, now: now(), actual: await database.differences() }
  let steps = await Promise.all(chooseDialects(engines).map((dialect) => findStep(making, dialect)))
  if (!steps.some(({ differences }) => isNeeded(differences))) {
    if (!isNeeded(making.actual) || (await isPending(making))) return undefined
    steps = mend(making, steps)
  }
  const words = name.toLowerCase().match(/[a-z0-9]+/g) ?? ['migration']
  const made = `${toStamp(making.now)}_${words.join('-')}`
  const files: string[] = []
  const applied: string[] = []
  const warnings: string[] = []
  for (const { dialect, differences, forgotten, isAdopted } of steps) {
    if (isAdopted && dialect.replay !== undefined) {
      const before = `${toStamp(making.now - 1000)}_as-it-was`
      const tables = await dialect.replay.dump(database.context.engine)
      const text = `-- The database as it was before it had migrations.\n${tables}`
      files.push(await writeMigrationFile(folder, before, dialect.name, text))
      applied.push(...(await takeAsApplied(making)))
    }
    const written = writeMigration(differences, forgotten, dialect)
    files.push(await writeMigrationFile(folder, made, dialect.name, written.text))
    warnings.push(...written.warnings.map((warning) => `${dialect.title}: ${warning}`))
  }
  for (const { dialect, wanted } of steps) {
    if (dialect.replay === undefined) await writeSnapshot(folder, dialect.name, toCatalogue(wanted))
  }
  if (!isNeeded(making.actual)) applied.push(...(await takeAsApplied(making)))
  return { files, applied, warnings }
}

async function findStep(making: Making, dialect: Dialect): Promise<Step> {
  const { database, folder, now, actual } = making
  const wanted = toSchema(database.tables, dialect, now)
  const { files } = await readMigrations(folder, dialect.name)
  const isConnected = dialect.name === database.engineName
  const isEmpty = actual.filter(({ kind }) => kind === 'missing table').length >= wanted.length
  if (isConnected && files.length === 0 && isNeeded(actual) && !isEmpty) {
    return { dialect, wanted, differences: actual, forgotten: [], isAdopted: true }
  }
  const base =
    (await readBase(folder, dialect)) ??
    (isConnected ? await database.context.engine.catalogue(database.context.engine) : undefined)
  if (base === undefined) throw withoutSnapshot(dialect)
  const differences = findDifferences(wanted, base, dialect)
  const names = new Set(wanted.flatMap(({ name, was = [] }) => [name, ...was]))
  const forgotten = [...base.keys()].filter((table) => !names.has(table) && !own.test(table))
  return { dialect, wanted, differences, forgotten, isAdopted: false }
}

/** Tables of the framework. */
const own = /^filigree_/

async function isPending({ database, folder }: Making): Promise<boolean> {
  const { files, missing } = await readMigrations(folder, database.engineName)
  await prepareMigrations(database)
  const applied = await readApplied(database.context.engine)
  return [...files.map((file) => file.name), ...missing].some((name) => !applied.has(name))
}

/** Everything has run and led to what the records want, but the database is another: somebody has changed one of them. */
function mend({ database, actual }: Making, steps: readonly Step[]): Step[] {
  if (database.context.dialect.replay !== undefined) {
    const told = actual.map(({ message }) => message).join(' ')
    throw migrationFault(
      'MIGRATION_FAILED',
      `The migrations lead to what the records want and have run, but the database has been changed: ${told}`,
      'Change it back by hand.',
    )
  }
  return steps.map((step) =>
    step.dialect.name === database.engineName ? { ...step, differences: actual } : step,
  )
}

/** @returns the names of those that were not applied before */
async function takeAsApplied({ database, folder, now }: Making): Promise<string[]> {
  const { files } = await readMigrations(folder, database.engineName)
  await prepareMigrations(database)
  return database.context.engine.changeSchema(async (transaction) => {
    const applied = await readApplied(transaction)
    const fresh = files.filter(({ name }) => !applied.has(name))
    for (const file of fresh) await recordMigration(database, transaction, file, now)
    return fresh.map(({ name }) => name)
  })
}

/** `20261121103000` */
function toStamp(now: number): string {
  return new Date(now).toISOString().replace(/\D/g, '').slice(0, 14)
}
