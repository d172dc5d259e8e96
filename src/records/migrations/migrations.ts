/**
 * Runs schema changes that lie in files of SQL: each once, in a transaction unless its first line says
 * `-- filigree: no transaction`, one process at a time.
 */
import {
  forgetMigration,
  migrationFault,
  prepareMigrations,
  readApplied,
  recordMigration,
} from './applied-migrations.js'
import type { Database } from '../database.js'
import { EngineFault, type Runner } from '../engines/engine.js'
import { readMigrations, toFileName, type MigrationFile } from './migration-files.js'
import { splitStatements } from './split-statements.js'

export interface MigrationOptions {
  /** The folder of the files. Default `./migrations`. */
  folder?: string
  /** Milliseconds since 1970. Default the system's clock. */
  now?: () => number
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
  /** ISO 8601, where it is applied. */
  readonly appliedAt: string | undefined
}

export const defaultFolder = './migrations'

/**
 * Runs what has not run yet, oldest first.
 *
 * @returns the names of what ran
 * @throws {DeclarationError} `MIGRATION_FAILED`, naming the file; what ran before it stays, it itself leaves nothing
 * unless it is without a transaction. `MIGRATION_CHANGED` when a file that ran is another now, `MIGRATION_MISSING` when
 * only other engines have it; then nothing runs
 */
export async function migrateUp(
  database: Database,
  { folder = defaultFolder, now = Date.now }: MigrationOptions = {},
): Promise<string[]> {
  const { files, missing } = await readMigrations(folder, database.engineName)
  await prepareMigrations(database)
  const before = await readApplied(database.context.engine)
  const [lacking] = missing.filter((name) => !before.has(name))
  if (lacking !== undefined) throw missingFor(database, lacking)
  const ran: string[] = []
  for (const file of files) {
    const isNew = await database.context.engine.changeSchema(
      async (transaction) => {
        // Under the lock: another process may have been quicker.
        const known = (await readApplied(transaction)).get(file.name)
        if (known !== undefined) {
          if (known.hash !== file.hash) throw changed(file)
          return false
        }
        await run(database, transaction, file, file.up)
        await recordMigration(database, transaction, file, now())
        return true
      },
      { atomic: file.inTransaction || before.has(file.name) },
    )
    if (isNew) ran.push(file.name)
  }
  return ran
}

/**
 * Takes the last ones back, newest first.
 *
 * @returns the names of what was taken back
 * @throws {DeclarationError} `MIGRATION_FAILED`, also where a file does not say how
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
    const isDone = await database.context.engine.changeSchema(
      async (transaction) => {
        // Under the lock: another process may have been quicker.
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

async function run(
  database: Database,
  transaction: Runner,
  { name, inTransaction }: MigrationFile,
  sql: string,
): Promise<void> {
  if (!inTransaction && !database.context.engine.changesPiecemeal) {
    const message = `Migration ${name} is to run without a transaction, which it always has on ${database.context.dialect.title}.`
    throw migrationFault('MIGRATION_FAILED', message, 'Take its first line away.')
  }
  const parts = inTransaction ? [sql] : splitStatements(sql)
  for (const [index, part] of parts.entries()) {
    try {
      await transaction.script(part)
    } catch (error) {
      if (!(error instanceof EngineFault)) throw error
      throw failed(name, error, inTransaction ? '' : `, statement ${index + 1} of ${parts.length}`)
    }
  }
}

function failed(name: string, cause: EngineFault, where: string): Error {
  const remedies = ['Correct it.']
  if (/transaction block/.test(cause.message)) {
    remedies[0] = 'Let its first line be "-- filigree: no transaction".'
  } else if (where !== '') {
    remedies.push('What came before the statement stays: undo it, or take it out of the file.')
  } else if (/already exists|duplicate column/.test(cause.message)) {
    remedies.push(
      'Where the application made it by itself, outside production: migrate another database, or let this one go.',
    )
  }
  const message = `Migration ${name}${where}: ${cause.message}.`
  const failure = migrationFault('MIGRATION_FAILED', message, remedies.join(' '))
  failure.cause = cause
  return failure
}

function changed({ name }: MigrationFile): Error {
  return migrationFault(
    'MIGRATION_CHANGED',
    `Migration ${name} is another than the one that ran.`,
    'Bring the file back, and write what is new into another.',
  )
}

function irreversible(name: string): Error {
  return migrationFault(
    'MIGRATION_FAILED',
    `Migration ${name} does not say how it is taken back.`,
    'Write it below a line "-- down".',
  )
}

function missingFor({ engineName }: Database, name: string): Error {
  const file = toFileName(name, engineName)
  return migrationFault(
    'MIGRATION_MISSING',
    `Migration ${name} has no file for this engine: ${file}.`,
    'Write it beside the other; a comment is enough where nothing is to be done here.',
  )
}
