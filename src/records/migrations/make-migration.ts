/**
 * Writes a migration for each engine, connected or not: from the schema after the engine's earlier migrations to that
 * of the records.
 */
import {
  prepareMigrations,
  readApplied,
  recordMigration,
  defaultFolder,
  type MigrationOptions,
} from './migrations.js'
import type { Database } from '../database.js'
import type { Difference } from '../schema/difference-kinds.js'
import { findDifferences, managedSchemas } from '../schema/difference.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { readBareCode, splitStatements } from '../../engines/contract/sql-script.js'
import {
  migrationError,
  newestTimestamp,
  readMigrations,
  toContainsLine,
  writeMigrationFile,
  writeNewFile,
  type SqlMigration,
} from './migration-files.js'
import { needsMigration, writeMigration } from './migration-text.js'
import {
  chooseDialects,
  readBase,
  readContained,
  withoutSnapshot,
  findUncovered,
} from './migration-base.js'
import type { Catalogue, TableSchema } from '../../engines/contract/table-schema.js'
import { toSchema } from '../schema/schema.js'
import { schemaAfter, toCatalogue, writeSnapshot } from './schema-snapshot.js'

export interface MadeMigration {
  /**
   * The paths of the files, in the order in which they run; one for each engine. All of them should be read before they
   * run.
   */
  readonly files: readonly string[]
  /**
   * Names of migrations whose tables `sync` has already made in this database: from now on they count as applied to it.
   */
  readonly applied: readonly string[]
  /** Changes that lock a large table, or that need a decision before they run. */
  readonly warnings: readonly string[]
}

/** The migration of one engine. */
interface EngineStep {
  readonly dialect: Dialect
  readonly schemas: readonly TableSchema[]
  readonly differences: readonly Difference[]
  /** The schema after the earlier migrations, where a file has it. */
  readonly base: Catalogue | undefined
  /** Tables without a record. */
  readonly forgotten: readonly string[]
  /**
   * No migration exists yet, but the database has tables that differ from the records: the first migration describes
   * them.
   */
  readonly isAdopted: boolean
  /** The engine has no migration yet. */
  readonly isFirst: boolean
}

export interface MakeOptions extends MigrationOptions {
  /** The names of the engines in use. Default: all. */
  readonly engines?: readonly string[] | undefined
}

interface Making {
  readonly database: Database
  readonly folder: string
  /** Milliseconds since 1970. */
  readonly now: number
  /** The differences between the connected database and the records. */
  readonly actual: readonly Difference[]
}

/**
 * @param name what the migration is for, in a few words
 * @returns `undefined` if there are no differences
 * @throws {DeclarationError} `MIGRATION_FAILED` if the schema after the earlier migrations cannot be determined, or the
 * database does not have that schema
 */
export async function makeMigration(
  database: Database,
  name: string,
  { folder = defaultFolder, now = Date.now, engines }: MakeOptions = {},
): Promise<MadeMigration | undefined> {
  const differences = await database.differences()
  const actual = differences.filter(({ isManaged }) => isManaged !== false)
  const making = { database, folder, now: now(), actual }
  let steps = await Promise.all(chooseDialects(engines).map((dialect) => findStep(making, dialect)))
  if (!steps.some(({ differences }) => needsMigration(differences))) {
    if (!needsMigration(making.actual) || (await isPending(making))) return undefined
    steps = repairManualChanges(making, steps)
  }
  const migrationName = await nextName(folder, name, making.now)
  const { files, applied } = await writeAsItWas(making, steps)
  const warnings: string[] = []
  const contained = await Promise.all(
    steps.map(async ({ dialect, isFirst }) =>
      isFirst ? readContained(folder, dialect) : undefined,
    ),
  )
  for (const [index, { dialect, differences, forgotten }] of steps.entries()) {
    const written = writeMigration(differences, forgotten, dialect)
    const contains = contained[index]
    const text = contains === undefined ? written.text : toContainsLine(contains) + written.text
    files.push(await writeMigrationFile(folder, migrationName, dialect.name, text))
    warnings.push(...written.warnings.map((warning) => `${dialect.product.title}: ${warning}`))
  }
  for (const { dialect, schemas, base } of steps) {
    if (dialect.tables.replay !== undefined) continue
    const after =
      base === undefined ? toCatalogue(schemas) : schemaAfter(base, schemas, migrationName, dialect)
    await writeSnapshot(folder, dialect.name, after)
  }
  if (!needsMigration(making.actual) && !(await isOpen(making, steps)))
    applied.push(...(await markAsApplied(making)))
  return { files, applied, warnings }
}

/** The first line of a migration without statements. */
const ownStatements = '-- Statements of your own, each with its semicolon.'

/**
 * Writes a migration without statements for each engine, for changes of rows.
 *
 * @returns the paths of the files
 */
export function makeEmptyMigration(
  name: string,
  options: MakeOptions = {},
): Promise<readonly string[]> {
  return makeWrittenMigration(name, () => `${ownStatements}\n\n-- down\n`, options)
}

/**
 * Writes a migration whose statements do not change the schema of the records.
 *
 * @param textOf writes an engine's file
 * @returns the paths of the files
 */
export async function makeWrittenMigration(
  name: string,
  textOf: (dialect: Dialect) => string,
  { folder = defaultFolder, now = Date.now, engines }: MakeOptions = {},
): Promise<readonly string[]> {
  const migrationName = await nextName(folder, name, now())
  const chosen = chooseDialects(engines)
  for (const { name } of chosen) {
    const [uncovered] = await findUncovered(folder, undefined, [name])
    if (uncovered !== undefined)
      throw migrationError('MIGRATION_MISSING', uncovered.what, uncovered.remedy)
  }
  const paths: string[] = []
  for (const dialect of chosen) {
    const isFirst = (await readBase(folder, dialect))?.size === 0
    paths.push(await writeMigrationFile(folder, migrationName, dialect.name, textOf(dialect)))
    if (isFirst && dialect.tables.replay === undefined)
      await writeSnapshot(folder, dialect.name, new Map())
  }
  return paths
}

/**
 * Writes a migration in code, for changes of rows on every engine.
 *
 * @param ending of the file: `ts`, or `mjs` for a project without TypeScript
 * @returns the path of the file
 */
export async function makeCodeMigration(
  name: string,
  { folder = defaultFolder, now = Date.now, ending }: MigrationOptions & { ending: 'ts' | 'mjs' },
): Promise<string> {
  const file = `${await nextName(folder, name, now())}.${ending}`
  return writeNewFile(folder, file, codeTemplates[ending])
}

const codeTemplates = {
  ts: `import type { MigrationContext } from 'filigree'

export const up = async ({ sql }: MigrationContext): Promise<void> => {
  // await sql\`update ticket set title = trim(title)\`
}

// Remove this function if the change cannot be undone.
export const down = async ({ sql }: MigrationContext): Promise<void> => {
  //
}
`,
  mjs: `/** @param {import('filigree').MigrationContext} context */
export const up = async ({ sql }) => {
  // await sql\`update ticket set title = trim(title)\`
}

/**
 * Remove this function if the change cannot be undone.
 *
 * @param {import('filigree').MigrationContext} context
 */
export const down = async ({ sql }) => {
  //
}
`,
}

/** For an engine whose files are run to find the schema: the present tables become its first migration. */
async function writeAsItWas(
  making: Making,
  steps: readonly EngineStep[],
): Promise<{ files: string[]; applied: string[] }> {
  const { database, folder, now } = making
  const [files, applied]: [string[], string[]] = [[], []]
  for (const { dialect, isAdopted } of steps) {
    const { replay } = dialect.tables
    if (!isAdopted || replay === undefined) continue
    const tables = await replay.dump(database.context.engine)
    const text = `-- The tables of the database before its first migration.\n${tables}`
    files.push(
      await writeMigrationFile(folder, `${toStamp(now - 1000)}_as-it-was`, dialect.name, text),
    )
    applied.push(...(await markAsApplied(making)))
  }
  return { files, applied }
}

/** A name with the current time, or a later time than the newest file, because files run in the order of their names. */
async function nextName(folder: string, name: string, now: number): Promise<string> {
  const nameParts = name.toLowerCase().match(/[a-z0-9]+/g) ?? ['migration']
  const newest = await newestTimestamp(folder)
  const timestamp = newest === undefined ? now : Math.max(now, newest + 1000)
  return `${toStamp(timestamp)}_${nameParts.join('-')}`
}

async function findStep(making: Making, dialect: Dialect): Promise<EngineStep> {
  const { database, folder, now, actual } = making
  const all = toSchema(database.tables, dialect, now)
  const schemas = managedSchemas(all)
  const { sqlFiles } = await readMigrations(folder, dialect.name)
  const isFirst = sqlFiles.length === 0
  const isConnected = dialect.name === database.engineName
  const isEmpty = actual.filter(({ kind }) => kind === 'missing table').length >= schemas.length
  if (isConnected && isFirst && needsMigration(actual) && !isEmpty) {
    checkPossible(actual)
    return {
      dialect,
      schemas,
      differences: actual,
      base: undefined,
      forgotten: [],
      isAdopted: true,
      isFirst,
    }
  }
  const snapshot = await readBase(folder, dialect)
  const base =
    snapshot ??
    (isConnected
      ? await database.context.engine.schema.catalogue(database.context.engine)
      : undefined)
  if (base === undefined) throw withoutSnapshot(dialect)
  const isExact = snapshot !== undefined && dialect.tables.replay === undefined
  const differences = findDifferences(schemas, base, dialect, { isExact })
  checkPossible(differences)
  const names = new Set(all.flatMap(({ name, oldNames = [] }) => [name, ...oldNames]))
  const forgotten = [...base.keys()].filter(
    (table) => !names.has(table) && !frameworkTables.test(table),
  )
  return { dialect, schemas, differences, base: snapshot, forgotten, isAdopted: false, isFirst }
}

/** True if a migration that changes a type has not run yet. Records may work with both types, so nothing blocks. */
async function isOpen({ database }: Making, steps: readonly EngineStep[]): Promise<boolean> {
  const { engine } = database.context
  const step = steps.find(({ dialect }) => dialect.name === database.engineName)
  if (step === undefined) return false
  const { schemas, dialect, differences } = step
  const actual = await engine.schema.catalogue(engine)
  const open = findDifferences(schemas, actual, dialect, { isExact: true }).map(
    (one) => one.message,
  )
  return differences.some(({ kind, message }) => kind === 'other type' && open.includes(message))
}

/** Reports differences that no migration can remove, because the database would fail with a less helpful error. */
function checkPossible(differences: readonly Difference[]): void {
  for (const { message, first } of differences)
    if (first !== undefined) throw migrationError('MIGRATION_FAILED', message, first)
}

/** The framework's own tables. */
const frameworkTables = /^filigree_/

async function isPending({ database, folder }: Making): Promise<boolean> {
  const { files, missing } = await readMigrations(folder, database.engineName)
  await prepareMigrations(database)
  const applied = await readApplied(database.context.engine)
  return [...files.map((file) => file.name), ...missing].some((name) => !applied.has(name))
}

/** All migrations have run and lead to the schema of the records, but the database differs: it was changed by hand. */
function repairManualChanges(
  { database, actual }: Making,
  steps: readonly EngineStep[],
): EngineStep[] {
  if (database.context.dialect.tables.replay !== undefined) {
    const messages = actual.map(({ message }) => message).join(' ')
    throw migrationError(
      'MIGRATION_FAILED',
      `All migrations have run and fit the records, but the database was changed by hand: ${messages}`,
      'Undo these changes by hand.',
    )
  }
  return steps.map((step) =>
    step.dialect.name === database.engineName ? { ...step, differences: actual } : step,
  )
}

/**
 * Marks the SQL files that change tables as applied. Changes of rows and statements of the user stay pending, in SQL and in
 * code, because the tables do not show whether they have run.
 *
 * @returns the names of the migrations that were not marked as applied before
 */
export async function markAsApplied({
  database,
  folder,
  now,
}: Pick<Making, 'database' | 'folder' | 'now'>): Promise<string[]> {
  const { sqlFiles } = await readMigrations(folder, database.engineName)
  const files = sqlFiles.filter((file) => !isOwn(file, database.context.dialect))
  await prepareMigrations(database)
  return database.context.engine.schema.change(async (transaction) => {
    const applied = await readApplied(transaction)
    const fresh = files.filter(({ name }) => !applied.has(name))
    for (const file of fresh) await recordMigration(database, transaction, file, now)
    return fresh.map(({ name }) => name)
  })
}

/** Whether a migration has statements of the user: it begins with the line of an empty one, or changes no table. */
export function isOwn({ up }: SqlMigration, { can }: Dialect): boolean {
  if (up.trimStart().startsWith(ownStatements)) return true
  const code = splitStatements(up, can).map((statement) => readBareCode(statement, can).trim())
  const isChange = (statement: string): boolean => /^(?:create|alter|drop)\b/i.test(statement)
  return code.length > 0 && !code.some(isChange) && !up.includes(frameworkBlock)
}

/** How blocks of statements begin that the framework writes, such as those that distribute a table. */
const frameworkBlock = 'do $filigree$'

/** `20261121103000` */
function toStamp(now: number): string {
  return new Date(now).toISOString().replace(/\D/g, '').slice(0, 14)
}
