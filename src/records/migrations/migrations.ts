/**
 * Runs migrations, which are SQL files: each runs once, in a transaction unless its first line says `-- filigree: no
 * transaction`, in one process at a time. The migrations that have run are the rows of `filigree_migration`.
 */
import type { Table } from '../model/table.js'
import { findDifferences } from '../schema/difference.js'
import { toSchema } from '../schema/schema.js'
import { chooseDialects, readBase, withoutSnapshot } from './migration-base.js'
import {
  migrationError,
  readMigrations,
  toFileName,
  type MigrationFile,
} from './migration-files.js'
import { needsMigration, readIrreversible } from './migration-text.js'
import { readBareCode, splitStatements } from '../../engines/contract/sql-script.js'
import type { Database } from '../database.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import type { Runner } from '../../engines/contract/engine.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import {
  frameworkScript,
  frameworkQuery,
  frameworkChange,
} from '../../engines/contract/statement.js'
import { createOwnTable } from '../own-tables.js'

interface CheckOptions {
  readonly folder: string
  /** The names of the engines in use. Default: the engines that have migrations; if none has, all. */
  readonly engines: readonly string[] | undefined
}

/**
 * @returns a sentence for each difference: `PostgreSQL: product.price is missing (Product.price).`
 * @throws {DeclarationError} `MIGRATION_FAILED` if the schema after the migrations cannot be determined
 */
export async function checkMigrations(
  tables: Iterable<Table>,
  { folder, engines }: CheckOptions,
): Promise<string[]> {
  const all = [...tables]
  const found: string[] = []
  for (const dialect of chooseDialects(engines)) {
    const { files, engines: withFiles, missing } = await readMigrations(folder, dialect.name)
    const isUsed = engines !== undefined || withFiles.size === 0 || files.length > 0
    if (!isUsed) continue
    const base = await readBase(folder, dialect)
    if (base === undefined) throw withoutSnapshot(dialect)
    // The time only matters for values that existing rows are given.
    const differences = findDifferences(toSchema(all, dialect, 0), base, dialect, {
      isExact: dialect.tables.replay === undefined,
    })
    const messages = differences
      .filter((one) => needsMigration([one]))
      .map(({ message }) => message)
    const lacking = missing.map((name) => `${name}.${dialect.name}.sql is missing.`)
    found.push(
      ...[...messages, ...lacking].map((message) => `${dialect.product.title}: ${message}`),
    )
  }
  return found
}

export interface MigrationOptions {
  /** The folder of the files. Default `./migrations`. */
  folder?: string
  /** Milliseconds since 1970. Default the system's clock. */
  now?: () => number
}

export interface MigrateUpOptions extends MigrationOptions {
  /** Called before a migration runs. */
  onStart?: (name: string) => void
  /** Called after a migration is committed. */
  onDone?: (name: string, milliseconds: number) => void
}

export interface MigrationStatus {
  /** The file's name without engine and ending: `20261121103000_add-price`. */
  readonly name: string
  readonly state:
    | 'applied'
    | 'pending'
    | 'changed after it was applied'
    | 'applied, file missing'
    | 'no file for this engine'
  /** ISO 8601, if it is applied. */
  readonly appliedAt: string | undefined
}

export const defaultFolder = './migrations'

/**
 * Runs all pending migrations, oldest first.
 *
 * @returns the names of the migrations that ran
 * @throws {DeclarationError} `MIGRATION_FAILED`, naming the file; the ones before it stay applied, and it leaves no
 * changes unless it runs without a transaction. `MIGRATION_CHANGED` if an applied file was edited, `MIGRATION_MISSING`
 * if only other engines have a file; then nothing runs
 */
export async function migrateUp(
  database: Database,
  { folder = defaultFolder, now = Date.now, onStart, onDone }: MigrateUpOptions = {},
): Promise<string[]> {
  const { files, missing } = await readMigrations(folder, database.engineName)
  await prepareMigrations(database)
  const before = await readApplied(database.context.engine)
  const [lacking] = missing.filter((name) => !before.has(name))
  if (lacking !== undefined) throw missingFor(database, lacking, files.length === 0)
  const ran: string[] = []
  for (const file of files) {
    let startedAt = 0
    const isNew = await database.context.engine.schema.change(
      async (transaction) => {
        // Read under the lock: another process may have been faster.
        const applied = (await readApplied(transaction)).get(file.name)
        if (applied !== undefined) {
          if (applied.hash !== file.hash) throw changed(file)
          return false
        }
        onStart?.(file.name)
        startedAt = performance.now()
        await run(database, transaction, file, file.up)
        await recordMigration(database, transaction, file, now())
        return true
      },
      { atomic: file.inTransaction || before.has(file.name) },
    )
    if (!isNew) continue
    ran.push(file.name)
    onDone?.(file.name, performance.now() - startedAt)
  }
  return ran
}

/**
 * Undoes the last migrations, newest first.
 *
 * @returns the names of the migrations that were undone
 * @throws {DeclarationError} `MIGRATION_FAILED`, also if a file has no part below `-- down`
 */
export async function migrateDown(
  database: Database,
  { folder = defaultFolder, steps = 1 }: MigrationOptions & { steps?: number } = {},
): Promise<string[]> {
  const { files } = await readMigrations(folder, database.engineName)
  await prepareMigrations(database)
  const undone: string[] = []
  for (let step = 0; step < steps; step++) {
    const last = [...(await readApplied(database.context.engine)).keys()].at(-1)
    if (last === undefined) break
    const file = files.find(({ name }) => name === last)
    if (file === undefined || file.down === '') throw irreversible(last)
    const isDone = await database.context.engine.schema.change(
      async (transaction) => {
        // Read under the lock: another process may have been faster.
        if (!(await readApplied(transaction)).has(last)) return false
        await run(database, transaction, file, file.down)
        await forgetMigration(database, transaction, last)
        return true
      },
      { atomic: file.inTransaction },
    )
    if (isDone) undone.push(last)
  }
  return undone
}

/**
 * The changes of undone migrations that remain, because their `down` does not undo them.
 *
 * @param names as `migrateDown` returned them
 */
export async function findNotUndone(
  { engineName }: Database,
  names: readonly string[],
  { folder = defaultFolder }: MigrationOptions = {},
): Promise<string[]> {
  const { files } = await readMigrations(folder, engineName)
  return files
    .filter(({ name }) => names.includes(name))
    .flatMap(({ down }) => readIrreversible(down))
}

/** Every migration, oldest first: of files and of the database. */
export async function migrationStatus(
  database: Database,
  { folder = defaultFolder }: MigrationOptions = {},
): Promise<MigrationStatus[]> {
  const { files, missing } = await readMigrations(folder, database.engineName)
  await prepareMigrations(database)
  const applied = await readApplied(database.context.engine)
  const hashes = new Map(files.map(({ name, hash }) => [name, hash]))
  const stateOf = (name: string): MigrationStatus['state'] => {
    const hash = hashes.get(name)
    const row = applied.get(name)
    if (row === undefined) return hash === undefined ? 'no file for this engine' : 'pending'
    if (hash === undefined) return 'applied, file missing'
    return row.hash === hash ? 'applied' : 'changed after it was applied'
  }
  return [...new Set([...hashes.keys(), ...missing, ...applied.keys()])]
    .sort()
    .map((name) => ({ name, state: stateOf(name), appliedAt: applied.get(name)?.appliedAt }))
}

/** `create index concurrently` waits for all writers, but blocks none, so it may wait longer than the lock timeout. */
function waitsWithoutBlocking(statement: string, dialect: Dialect): boolean {
  return /\bconcurrently\b/i.test(readBareCode(statement, dialect.can))
}

async function run(
  database: Database,
  transaction: Runner,
  { name, inTransaction }: MigrationFile,
  sql: string,
): Promise<void> {
  const { dialect } = database.context
  if (!inTransaction && !dialect.can.changePiecemeal) {
    const message = `Migration ${name} asks to run without a transaction, but on ${dialect.product.title} migrations always run in one.`
    throw migrationError('MIGRATION_FAILED', message, 'Remove its first line.')
  }
  const parts = inTransaction ? [sql] : splitStatements(sql, dialect.can)
  for (const [index, part] of parts.entries()) {
    try {
      await transaction.run(
        frameworkScript(part, { ignoresLockTimeout: waitsWithoutBlocking(part, dialect) }),
        [],
        'nothing',
      )
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      throw failed(name, error, inTransaction ? '' : `, statement ${index + 1} of ${parts.length}`)
    }
  }
}

function failed(name: string, cause: EngineError, where: string): Error {
  const remedies = ['Correct it.']
  if (/transaction block/.test(cause.message)) {
    remedies[0] = 'Let its first line be "-- filigree: no transaction".'
  } else if (where !== '') {
    remedies.push('What came before the statement stays: undo it, or remove it from the file.')
  } else if (/already exists|duplicate column/.test(cause.message)) {
    remedies.push(
      'If the application created these tables itself, outside production: migrate another database, or delete this one.',
    )
  }
  const message = `Migration ${name}${where}: ${cause.message}.`
  const failure = migrationError('MIGRATION_FAILED', message, remedies.join(' '))
  failure.cause = cause
  return failure
}

function changed({ name }: MigrationFile): Error {
  return migrationError(
    'MIGRATION_CHANGED',
    `Migration ${name} was changed after it ran.`,
    'Restore the file, and write new changes into a new migration.',
  )
}

function irreversible(name: string): Error {
  return migrationError(
    'MIGRATION_FAILED',
    `Migration ${name} does not say how to undo it.`,
    'Write the statements below a line "-- down".',
  )
}

/** @param isFirst whether the engine has no file at all */
function missingFor({ engineName }: Database, name: string, isFirst: boolean): Error {
  const file = toFileName(name, engineName)
  return migrationError(
    'MIGRATION_MISSING',
    `Migration ${name} has no file for this engine: ${file}.`,
    isFirst
      ? `Add "${engineName}" to filigree.engines in package.json if it is not there, then run filigree migrate make <name>.`
      : 'Write it next to the other one. If this engine needs no changes, a comment is enough.',
  )
}

interface Applied {
  readonly hash: string
  /** ISO 8601. */
  readonly appliedAt: string
}

/** Creates the table if it is missing. */
export function prepareMigrations(database: Database): Promise<void> {
  return createOwnTable(database, 'filigree_migration', createTable).then(() => undefined)
}

const createTable = `create table if not exists filigree_migration (
  name text primary key not null,
  hash text not null,
  applied_at text not null
)`

// Not `PreparedSql`, which converts errors: a schema change repeats its work after the engine's error of a lock time-out.
const migrationTables = ['filigree_migration']

/** By name, sorted. */
export async function readApplied(runner: Runner): Promise<Map<string, Applied>> {
  const sql = 'select name, hash, applied_at from filigree_migration'
  const { rows } = await runner.run(
    frameworkQuery(sql, { tables: migrationTables, isFresh: true }),
    [],
    'all',
  )
  const entries = rows.map(([name, hash, appliedAt]): [string, Applied] => [
    String(name),
    { hash: String(hash), appliedAt: String(appliedAt) },
  ])
  return new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** @param now milliseconds since 1970 */
export async function recordMigration(
  { context: { dialect } }: Database,
  runner: Runner,
  { name, hash }: Pick<MigrationFile, 'name' | 'hash'>,
  now: number,
): Promise<void> {
  const placeholders = [1, 2, 3].map(dialect.statements.placeholder).join(', ')
  const sql = `insert into filigree_migration (name, hash, applied_at) values (${placeholders})`
  await runner.run(
    frameworkChange('insert', sql, { tables: migrationTables }),
    [name, hash, new Date(now).toISOString()],
    'all',
  )
}

async function forgetMigration(
  { context: { dialect } }: Database,
  runner: Runner,
  name: string,
): Promise<void> {
  const sql = `delete from filigree_migration where name = ${dialect.statements.placeholder(1)}`
  await runner.run(frameworkChange('delete', sql, { tables: migrationTables }), [name], 'all')
}
