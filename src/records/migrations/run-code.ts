/**
 * Runs migrations in code: in one transaction under the lock of schema changes, or in batches. A batch is a transaction with
 * some rows of a table, which also stores the key of its last row in `filigree_migration_batch`. After an interruption the
 * next run goes on after this key, so no row is changed twice.
 */
import { DeclarationError } from '../../errors/declaration-error.js'
import type { Runner } from '../../engines/contract/engine.js'
import type { Database } from '../database.js'
import { createOwnTable } from '../own-tables.js'
import { createSqlTag, type RowCondition, type RowExpressions } from '../statements/builder.js'
import { migrationError, type CodeMigration } from './migration-files.js'
import type {
  BatchContext,
  BatchSettings,
  MigrationContext,
  MigrationFunction,
} from './migration-module.js'

/** What every migration does before and after its own work. */
export interface MigrationStep {
  /** Reads under the lock whether the migration still has to run. */
  readonly isOpen: (runner: Runner) => Promise<boolean>
  /** Records that it has run, in the same transaction. */
  readonly finish: (runner: Runner) => Promise<void>
  readonly onProgress: (done: number, total?: number) => void
}

/** The work of a migration in one direction. */
export interface CodeWork {
  readonly migration: CodeMigration
  readonly direction: 'up' | 'down'
  readonly work: MigrationFunction
  readonly batches: BatchSettings | undefined
}

/**
 * @returns false if another process has run it
 * @throws {DeclarationError} `MIGRATION_FAILED` with the line of the error. Only finished batches remain
 */
export async function runCode(
  database: Database,
  code: CodeWork,
  step: MigrationStep,
): Promise<boolean> {
  const sql = await createSqlTag(database.kysely)
  const context: MigrationContext = { database, sql, progress: step.onProgress }
  try {
    if (code.batches !== undefined)
      return await runBatches(context, database, { ...code, batches: code.batches }, step)
    return await database.migrate(async (runner) => {
      if (!(await step.isOpen(runner))) return false
      await code.work(context)
      await step.finish(runner)
      return true
    })
  } catch (error) {
    throw error instanceof DeclarationError ? error : failed(code, error)
  }
}

function failed({ migration, direction, batches }: CodeWork, cause: unknown): Error {
  const { message, stack = '' } = cause instanceof Error ? cause : new Error(String(cause))
  const fileName = migration.file.replace(/^.*[\\/]/, '')
  const line = stack.split(fileName)[1]?.match(/^:(\d+)/)?.[1]
  const where = line === undefined ? '' : `, line ${line}`
  return migrationError(
    'MIGRATION_FAILED',
    `Migration ${migration.name}${where}: ${message.replace(/\.$/, '')}.`,
    batches === undefined
      ? 'Correct it. It has changed nothing.'
      : `Correct it, and run migrate ${direction} again. It goes on after the last finished batch.`,
    cause,
  )
}

// Batches.

interface BatchWork extends CodeWork {
  readonly batches: BatchSettings
}

/** Where the last finished batch has ended. */
interface BatchProgress {
  /** The values of the primary key as text. */
  readonly key: readonly string[]
  /** The number of rows so far. */
  readonly done: number
}

async function runBatches(
  context: MigrationContext,
  database: Database,
  work: BatchWork,
  step: MigrationStep,
): Promise<boolean> {
  const key = await readKey(database, work)
  await createOwnTable(database, 'filigree_migration_batch', createTable)
  const total = await countRows(context, work.batches.table)
  for (;;) {
    const outcome = await database.migrate(async (runner) => {
      if (!(await step.isOpen(runner))) return undefined
      return runBatch(context, work, key, () => step.finish(runner))
    })
    // Another process has run the last batch.
    if (outcome === undefined) return false
    step.onProgress(outcome.done, Math.max(total, outcome.done))
    if (outcome.isLast) return true
  }
}

/** Runs the next batch in the open transaction. */
async function runBatch(
  context: MigrationContext,
  { migration: { name }, direction, work, batches: { table, size } }: BatchWork,
  key: readonly string[],
  finish: () => Promise<void>,
): Promise<{ done: number; isLast: boolean }> {
  const { sql } = context
  const { rows: stored } = await sql<{ progress: string; direction: string }>`
    select progress, direction from filigree_migration_batch where name = ${name}`
  const position = stored.find((one) => one.direction === direction)
  const last = position && (JSON.parse(position.progress) as BatchProgress)
  const { rows, lastKey } = await readRows(context, { table, key, size, after: last?.key })
  const done = (last?.done ?? 0) + rows.length
  const batchContext: BatchContext = { ...context, rows }
  if (rows.length > 0) await work(batchContext)
  await sql`delete from filigree_migration_batch where name = ${name}`
  const isLast = rows.length < size
  if (isLast) await finish()
  else {
    const text = JSON.stringify({ key: lastKey, done } satisfies BatchProgress)
    await sql`insert into filigree_migration_batch (name, direction, progress)
      values (${name}, ${direction}, ${text})`
  }
  return { done, isLast }
}

interface RowsOfBatch {
  readonly table: string
  readonly key: readonly string[]
  readonly size: number
  readonly after: readonly string[] | undefined
}

/** The prefix of columns with the key as text, which every database compares with its own types without loss. */
const keyPrefix = 'filigree_key_'

async function readRows(
  { database: { kysely } }: MigrationContext,
  { table, key, size, after }: RowsOfBatch,
): Promise<{ rows: Record<string, unknown>[]; lastKey: readonly string[] }> {
  let query = kysely
    .selectFrom(table)
    .selectAll(table)
    .select((builder) =>
      key.map((name, index) =>
        builder.cast<string>(builder.ref(name), 'text').as(keyPrefix + String(index)),
      ),
    )
  for (const name of key) query = query.orderBy(name)
  if (after !== undefined) query = query.where((builder) => isAfter(builder, key, after))
  const found = await query.limit(size).execute()
  const last = found.at(-1)
  return {
    lastKey: key.map((_, index) => String(last?.[keyPrefix + String(index)])),
    rows: found.map((row) => {
      const entries = Object.entries(row).filter(([name]) => !name.startsWith(keyPrefix))
      return Object.fromEntries(entries)
    }),
  }
}

/** `id > '7'`, or `(a, b) > ('7', '8')` */
function isAfter(
  builder: RowExpressions,
  key: readonly string[],
  after: readonly string[],
): RowCondition {
  const [name = '', ...others] = key
  if (others.length === 0) return builder(name, '>', after[0])
  const columns = builder.refTuple(...(key as [string, string]))
  return builder(columns, '>', builder.tuple(...(after as [string, string])))
}

async function countRows(
  { database: { kysely } }: MigrationContext,
  table: string,
): Promise<number> {
  const counted = await kysely
    .selectFrom(table)
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow()
  return Number(counted.count)
}

/** @throws {DeclarationError} `MIGRATION_FAILED` if there is no such table, or it has no primary key */
async function readKey(
  { context: { engine } }: Database,
  { migration: { name }, batches: { table } }: BatchWork,
): Promise<readonly string[]> {
  const found = (await engine.schema.catalogue(engine, [table])).get(table)
  const { primaryKey = [] } = found ?? {}
  if (primaryKey.length > 0) return primaryKey
  throw migrationError(
    'MIGRATION_FAILED',
    `Migration ${name}: the table "${table}" of batches ${found === undefined ? 'does not exist' : 'has no primary key'}.`,
    'Name a table with a primary key as it is in the database, or remove batches.',
  )
}

const createTable = `create table if not exists filigree_migration_batch (
  name text primary key not null,
  direction text not null,
  progress text not null
)`
