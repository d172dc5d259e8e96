/**
 * Schema changes as files of SQL that people review: `20261121103000_add-price.postgres.sql`. Each runs once, in a
 * transaction, one process at a time.
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DeclarationError, type Problem } from '../errors/declaration-error.js'
import type { Database } from './database.js'
import { EngineFault, type Runner, type TransactionRunner } from './engine.js'
import { writeMigration } from './migration-text.js'
import { ensureTable } from './own-tables.js'

export interface MigrationOptions {
  /** The folder of the files. Default `./migrations`. */
  folder?: string
  /** Milliseconds since 1970. Default the system's clock. */
  now?: () => number
}

export interface MigrationStatus {
  /** The file's name without engine and ending: `20261121103000_add-price`. */
  readonly name: string
  readonly state: 'applied' | 'pending' | 'changed after it was applied' | 'applied, file missing'
  /** ISO 8601, where it is applied. */
  readonly appliedAt: string | undefined
}

interface MigrationFile {
  readonly name: string
  readonly up: string
  readonly down: string
  readonly hash: string
}

/**
 * Writes a migration from the difference between the records and the database, for the database's engine.
 *
 * @param name what it is for, in a few words
 * @returns the file's path, or `undefined` where nothing differs
 */
export async function makeMigration(
  database: Database,
  name: string,
  { folder = './migrations', now = Date.now }: MigrationOptions = {},
): Promise<string | undefined> {
  const text = writeMigration(await database.differences())
  if (text === undefined) return undefined
  const moment = new Date(now()).toISOString().replace(/\D/g, '').slice(0, 14)
  const words = name.toLowerCase().match(/[a-z0-9]+/g) ?? ['migration']
  const file = join(folder, `${moment}_${words.join('-')}.${database.engineName}.sql`)
  await mkdir(folder, { recursive: true })
  await writeFile(file, text, { flag: 'wx' })
  return file
}

/**
 * Runs what has not run yet, oldest first.
 *
 * @returns the names of what ran
 * @throws {DeclarationError} `MIGRATION_FAILED`, naming the file; what ran before it stays, it itself leaves nothing.
 * `MIGRATION_CHANGED` when a file that ran is another now
 */
export async function migrateUp(
  database: Database,
  options: MigrationOptions = {},
): Promise<string[]> {
  const { now = Date.now } = options
  const files = await readFiles(database, options)
  await prepare(database)
  const ran: string[] = []
  for (const file of files) {
    const isNew = await exclusively(database, async (transaction) => {
      // Under the lock: another process may have been quicker.
      const applied = await readApplied(transaction)
      const known = applied.get(file.name)
      if (known !== undefined) {
        if (known.hash !== file.hash) throw changed(file)
        return false
      }
      await run(transaction, file, file.up)
      await record(database, transaction, file, now())
      return true
    })
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
  options: MigrationOptions & { steps?: number } = {},
): Promise<string[]> {
  const { steps = 1 } = options
  const files = new Map((await readFiles(database, options)).map((file) => [file.name, file]))
  await prepare(database)
  const undone: string[] = []
  for (let step = 0; step < steps; step++) {
    const name = await exclusively(database, async (transaction) => {
      const last = [...(await readApplied(transaction)).keys()].at(-1)
      if (last === undefined) return undefined
      const file = files.get(last)
      if (file === undefined || file.down === '') throw irreversible(last)
      await run(transaction, file, file.down)
      await forget(database, transaction, last)
      return last
    })
    if (name === undefined) break
    undone.push(name)
  }
  return undone
}

/** Every migration, oldest first: of files and of the database. */
export async function migrationStatus(
  database: Database,
  options: MigrationOptions = {},
): Promise<MigrationStatus[]> {
  const files = await readFiles(database, options)
  await prepare(database)
  const applied = await readApplied(database.context.engine)
  const known = new Set(files.map(({ name }) => name))
  const lost = [...applied.keys()].filter((name) => !known.has(name))
  const states = files.map(({ name, hash }): MigrationStatus => {
    const row = applied.get(name)
    if (row === undefined) return { name, state: 'pending', appliedAt: undefined }
    const state = row.hash === hash ? 'applied' : 'changed after it was applied'
    return { name, state, appliedAt: row.appliedAt }
  })
  return [
    ...states,
    ...lost.map((name): MigrationStatus => {
      const appliedAt = applied.get(name)?.appliedAt
      return { name, state: 'applied, file missing', appliedAt }
    }),
  ].sort((a, b) => (a.name < b.name ? -1 : 1))
}

async function readFiles(
  { engineName }: Database,
  { folder = './migrations' }: MigrationOptions,
): Promise<MigrationFile[]> {
  const ending = `.${engineName}.sql`
  const names = await readdir(folder).catch(() => [] as string[])
  const files = names.filter((name) => name.endsWith(ending)).sort()
  return Promise.all(
    files.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8')
      const [up = '', down = ''] = text.split(/^-- down\b.*$/m)
      const hash = createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex')
      return { name: name.slice(0, -ending.length), up, down: down.trim(), hash }
    }),
  )
}

function prepare(database: Database): Promise<void> {
  return ensureTable(database, 'filigree_migration', createTable)
}

const createTable = `create table if not exists filigree_migration (
  name text primary key not null,
  hash text not null,
  applied_at text not null
)`

interface Applied {
  readonly hash: string
  readonly appliedAt: string
}

/** By name, in the order of their names. */
async function readApplied(runner: Runner): Promise<Map<string, Applied>> {
  const sql = 'select name, hash, applied_at from filigree_migration'
  const { rows } = await runner.query({ sql, writes: false }, [])
  const entries = rows.map(([name, hash, appliedAt]): [string, Applied] => [
    String(name),
    { hash: String(hash), appliedAt: String(appliedAt) },
  ])
  return new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

async function exclusively<T>(
  { context }: Database,
  work: (transaction: TransactionRunner) => Promise<T>,
): Promise<T> {
  const transaction = await context.engine.begin({ schema: true })
  try {
    const result = await work(transaction)
    await transaction.commit()
    return result
  } catch (error) {
    await transaction.rollback()
    throw error
  }
}

async function run(
  transaction: TransactionRunner,
  { name }: MigrationFile,
  sql: string,
): Promise<void> {
  try {
    await transaction.script(sql)
  } catch (error) {
    if (!(error instanceof EngineFault)) throw error
    const failure = fail('MIGRATION_FAILED', `Migration ${name}: ${error.message}.`, 'Correct it.')
    failure.cause = error
    throw failure
  }
}

async function record(
  { engineName }: Database,
  transaction: TransactionRunner,
  { name, hash }: MigrationFile,
  now: number,
): Promise<void> {
  const places = engineName === 'sqlite' ? '?, ?, ?' : '$1, $2, $3'
  const sql = `insert into filigree_migration (name, hash, applied_at) values (${places})`
  await transaction.query({ sql, writes: true }, [name, hash, new Date(now).toISOString()])
}

async function forget(
  { engineName }: Database,
  transaction: TransactionRunner,
  name: string,
): Promise<void> {
  const place = engineName === 'sqlite' ? '?' : '$1'
  const sql = `delete from filigree_migration where name = ${place}`
  await transaction.query({ sql, writes: true }, [name])
}

function changed({ name }: MigrationFile): DeclarationError {
  return fail(
    'MIGRATION_CHANGED',
    `Migration ${name} is another than the one that ran.`,
    'Bring the file back, and write what is new into another.',
  )
}

function irreversible(name: string): DeclarationError {
  return fail(
    'MIGRATION_FAILED',
    `Migration ${name} does not say how it is taken back.`,
    'Write it below a line "-- down".',
  )
}

function fail(code: Problem['code'], message: string, remedy: string): DeclarationError {
  return new DeclarationError([{ code, message, remedy }])
}
