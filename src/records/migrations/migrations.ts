/**
 * Runs migrations, which are SQL files and files of code: each runs once, in one process at a time. It runs in a transaction,
 * unless its first line says `-- filigree: no transaction` or it exports `batches`. The migrations that have run are the rows
 * of `filigree_migration`.
 */
import type { Table } from '../model/table.js'
import { findDifferences, managedSchemas } from '../schema/difference.js'
import { toSchema } from '../schema/schema.js'
import { chooseDialects, readBase, withoutSnapshot } from './migration-base.js'
import {
  migrationError,
  readMigrations,
  toFileName,
  type CodeMigration,
  type MigrationFile,
  type SqlMigration,
} from './migration-files.js'
import { importFile, loadMigration, type LoadFile } from './migration-module.js'
import { runCode, type MigrationStep } from './run-code.js'
import { needsMigration, readIrreversible } from './migration-text.js'
import { readBareCode, splitStatements } from '../../engines/contract/sql-script.js'
import { maintainPartitions } from '../schema/maintain-partitions.js'
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

interface MigrationCheckOptions {
  readonly folder: string
  /** The names of the engines in use. Default: the engines that have migrations; if none has, all. */
  readonly engines: readonly string[] | undefined
  /** Imports a migration in code. Default: as Node.js does. */
  readonly load?: LoadFile
}

/**
 * Runs the SQL files on an empty database, or reads the schema after them. Migrations in code are only loaded.
 *
 * @returns a sentence for each difference: `PostgreSQL: product.price is missing (Product.price).`
 * @throws {DeclarationError} `MIGRATION_FAILED` if the schema after the migrations cannot be determined
 */
export async function checkMigrations(
  tables: Iterable<Table>,
  { folder, engines, load = importFile }: MigrationCheckOptions,
): Promise<string[]> {
  const all = [...tables]
  const found: string[] = []
  await checkCode(folder, load)
  for (const dialect of chooseDialects(engines)) {
    const migrations = await readMigrations(folder, dialect.name)
    const { sqlFiles, engines: withFiles, missing } = migrations
    const isUsed = engines !== undefined || withFiles.size === 0 || sqlFiles.length > 0
    if (!isUsed) continue
    const base = await readBase(folder, dialect)
    if (base === undefined) throw withoutSnapshot(dialect)
    // The time only matters for values that existing rows are given.
    const schemas = managedSchemas(toSchema(all, dialect, 0))
    const differences = findDifferences(schemas, base, dialect, {
      isExact: dialect.tables.replay === undefined,
    })
    const messages = differences
      .filter((one) => one.isSecond !== true && needsMigration([one]))
      .map(({ message }) => message)
    const lacking = missing.map((name) => `${name}.${dialect.name}.sql is missing.`)
    found.push(
      ...[...messages, ...lacking].map((message) => `${dialect.product.title}: ${message}`),
    )
  }
  return found
}

/** @throws {DeclarationError} `MIGRATION_FAILED` if a migration in code cannot be loaded */
async function checkCode(folder: string, load: LoadFile): Promise<void> {
  const [dialect] = chooseDialects(undefined)
  if (dialect === undefined) return
  for (const file of (await readMigrations(folder, dialect.name)).codeFiles)
    await loadMigration(file, load)
}

export interface MigrationOptions {
  /** The folder of the files. Default `./migrations`. */
  folder?: string
  /** Milliseconds since 1970. Default the system's clock. */
  now?: () => number
}

interface MigrationRunOptions extends MigrationOptions {
  /** Imports a migration in code. Default: as Node.js does. */
  load?: LoadFile
  /** Called while a migration in code runs, with the rows that it has changed so far and all rows. */
  onProgress?: (name: string, done: number, total: number | undefined) => void
}

export interface MigrateUpOptions extends MigrationRunOptions {
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
  {
    folder = defaultFolder,
    now = Date.now,
    load,
    onStart,
    onDone,
    onProgress,
  }: MigrateUpOptions = {},
): Promise<string[]> {
  const { files, missing } = await readMigrations(folder, database.engineName)
  await prepareMigrations(database)
  const before = await readApplied(database.context.engine)
  const [lacking] = missing.filter((name) => !before.has(name))
  if (lacking !== undefined) throw missingFor(database, lacking, files.length === 0)
  const ran: string[] = []
  for (const file of files) {
    const { name } = file
    let startedAt: number | undefined
    const step: MigrationStep = {
      isOpen: async (runner) => {
        const applied = (await readApplied(runner)).get(name)
        if (applied !== undefined) {
          if (applied.hash !== file.hash) throw changed(file)
          return false
        }
        if (startedAt === undefined) onStart?.(name)
        startedAt ??= performance.now()
        return true
      },
      finish: (runner) => recordMigration(database, runner, file, now()),
      onProgress: (done, total) => onProgress?.(name, done, total),
    }
    if (before.has(name)) {
      // Rejects a file that was edited.
      await step.isOpen(database.context.engine)
      continue
    }
    const isNew = await (file.kind === 'sql'
      ? runSql(database, file, file.up, step)
      : runUp(database, file, step, load))
    if (!isNew) continue
    ran.push(name)
    onDone?.(name, performance.now() - (startedAt ?? 0))
  }
  // A migration creates the partitions of the time at which it was written.
  await maintainPartitions(database.tables, database.context, { detach: false })
  return ran
}

/** @returns false if another process has run it */
function runSql(
  database: Database,
  file: SqlMigration,
  sql: string,
  step: MigrationStep,
): Promise<boolean> {
  return database.context.engine.schema.change(
    async (runner) => {
      // Under the lock: another process may have been faster.
      if (!(await step.isOpen(runner))) return false
      await run(database, runner, file, sql)
      await step.finish(runner)
      return true
    },
    { atomic: file.inTransaction },
  )
}

async function runUp(
  database: Database,
  migration: CodeMigration,
  step: MigrationStep,
  load: LoadFile = importFile,
): Promise<boolean> {
  const { up, batches } = await loadMigration(migration, load)
  return runCode(database, { migration, direction: 'up', work: up, batches }, step)
}

/**
 * Undoes the last migrations, newest first.
 *
 * @returns the names of the migrations that were undone
 * @throws {DeclarationError} `MIGRATION_FAILED`, also if a file has no part below `-- down`
 */
export async function migrateDown(
  database: Database,
  {
    folder = defaultFolder,
    steps = 1,
    load,
    onProgress,
  }: MigrationRunOptions & { steps?: number } = {},
): Promise<string[]> {
  const { files } = await readMigrations(folder, database.engineName)
  await prepareMigrations(database)
  const undone: string[] = []
  for (let count = 0; count < steps; count++) {
    const last = [...(await readApplied(database.context.engine)).keys()].at(-1)
    if (last === undefined) break
    const file = files.find(({ name }) => name === last)
    if (file === undefined) throw withoutFile(last)
    const step: MigrationStep = {
      isOpen: async (runner) => (await readApplied(runner)).has(last),
      finish: (runner) => forgetMigration(database, runner, last),
      onProgress: (done, total) => onProgress?.(last, done, total),
    }
    const isDone = await (file.kind === 'sql'
      ? runSqlDown(database, file, step)
      : runDown(database, file, step, load))
    if (isDone) undone.push(last)
  }
  return undone
}

function runSqlDown(database: Database, file: SqlMigration, step: MigrationStep): Promise<boolean> {
  if (file.down === '') throw irreversible(file)
  return runSql(database, file, file.down, step)
}

async function runDown(
  database: Database,
  migration: CodeMigration,
  step: MigrationStep,
  load: LoadFile = importFile,
): Promise<boolean> {
  const { down, batches } = await loadMigration(migration, load)
  if (down === undefined) throw irreversible(migration)
  return runCode(database, { migration, direction: 'down', work: down, batches }, step)
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
  const { sqlFiles } = await readMigrations(folder, engineName)
  return sqlFiles
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
  { name, inTransaction }: SqlMigration,
  sql: string,
): Promise<void> {
  const { dialect } = database.context
  if (!inTransaction && !dialect.can.changePiecemeal) {
    const message = `Migration ${name} asks to run without a transaction, but on ${dialect.product.title} migrations always run in one.`
    throw migrationError('MIGRATION_FAILED', message, 'Remove its first line.')
  }
  // A server that distributes tables accepts some statements only alone in a message.
  const parts = dialect.can.changePiecemeal ? splitStatements(sql, dialect.can) : [sql]
  for (const [index, part] of parts.entries()) {
    try {
      const { partitions } = dialect.tables
      const statements =
        inTransaction || partitions === undefined
          ? [part]
          : await partitions.expand(part, transaction)
      for (const statement of statements)
        await transaction.run(
          frameworkScript(statement, {
            ignoresLockTimeout: waitsWithoutBlocking(statement, dialect),
          }),
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
  return migrationError('MIGRATION_FAILED', message, remedies.join(' '), cause)
}

function changed({ name }: MigrationFile): Error {
  return migrationError(
    'MIGRATION_CHANGED',
    `Migration ${name} was changed after it ran.`,
    'Restore the file, and write new changes into a new migration.',
  )
}

function irreversible({ name, kind }: MigrationFile): Error {
  return migrationError(
    'MIGRATION_FAILED',
    `Migration ${name} does not say how to undo it.`,
    kind === 'sql'
      ? 'Write the statements below a line "-- down".'
      : 'Export a function down that undoes what up has changed.',
  )
}

function withoutFile(name: string): Error {
  return migrationError(
    'MIGRATION_FAILED',
    `Migration ${name} has run, but its file is missing, so it cannot be undone.`,
    'Restore the file from version control.',
  )
}

/** @param isFirst whether the engine has no file at all */
function missingFor({ engineName }: Database, name: string, isFirst: boolean): Error {
  const file = toFileName(name, engineName)
  return migrationError(
    'MIGRATION_MISSING',
    `Migration ${name} has no file for this engine: ${file}.`,
    isFirst
      ? `Write the migrations for it: filigree migrate adopt ${engineName}.`
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
