/**
 * The migrations that have run on a database, one row of `filigree_migration` each. One process changes them at a time.
 */
import { DeclarationError, type Problem } from '../../errors/declaration-error.js'
import type { Database } from '../database.js'
import type { Runner } from '../../engines/contract/engine.js'
import { frameworkQuery, frameworkChange } from '../../engines/contract/statement.js'
import type { MigrationFile } from './migration-files.js'
import { ensureTable } from '../own-tables.js'

export interface Applied {
  readonly hash: string
  /** ISO 8601. */
  readonly appliedAt: string
}

/** Creates the table if it is missing. */
export function prepareMigrations(database: Database): Promise<void> {
  return ensureTable(database, 'filigree_migration', createTable).then(() => undefined)
}

const createTable = `create table if not exists filigree_migration (
  name text primary key not null,
  hash text not null,
  applied_at text not null
)`

const tables = ['filigree_migration']

/** By name, sorted. */
export async function readApplied(runner: Runner): Promise<Map<string, Applied>> {
  const sql = 'select name, hash, applied_at from filigree_migration'
  const { rows } = await runner.run(frameworkQuery(sql, { tables, isFresh: true }), [], 'all')
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
  const placeholders = [1, 2, 3].map(dialect.placeholder).join(', ')
  const sql = `insert into filigree_migration (name, hash, applied_at) values (${placeholders})`
  await runner.run(
    frameworkChange('insert', sql, { tables }),
    [name, hash, new Date(now).toISOString()],
    'all',
  )
}

export async function forgetMigration(
  { context: { dialect } }: Database,
  runner: Runner,
  name: string,
): Promise<void> {
  const sql = `delete from filigree_migration where name = ${dialect.placeholder(1)}`
  await runner.run(frameworkChange('delete', sql, { tables }), [name], 'all')
}

export function migrationError(
  code: Problem['code'],
  message: string,
  remedy: string,
): DeclarationError {
  return new DeclarationError([{ code, message, remedy }])
}
