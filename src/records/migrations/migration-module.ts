/** Loads migrations in code. A file exports `up` and, if the change can be undone, `down`. */
import { pathToFileURL } from 'node:url'
import { relative } from 'node:path'
import { DeclarationError, type Problem } from '../../errors/declaration-error.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { declareOptions, type OptionsOf, type ValuesOf } from '../../options/declare-options.js'
import { option } from '../../options/option.js'
import type { Database } from '../public-database.js'
import type { SqlTag } from '../statements/builder.js'
import { migrationError, type CodeMigration } from './migration-files.js'

/** The argument of `up` and `down` in a migration in code. */
export interface MigrationContext {
  /**
   * The database, in the transaction of the migration. Use `kysely`, which works with the tables as they are now. The
   * repositories of `records` work with the classes of today, which a later version may change.
   */
  readonly database: Database
  /** Runs a statement: ``const { rows } = await sql`select id from item` ``. One statement in each call. */
  readonly sql: SqlTag
  /** Shows how much is done. `filigree migrate` prints it at most every second. */
  readonly progress: (done: number, total?: number) => void
}

/** The argument of `up` and `down` in a migration in code that exports `batches`. */
export interface BatchContext<Row = Record<string, unknown>> extends MigrationContext {
  /** The rows of this batch, as they are in the database, in the order of the primary key. Never empty. */
  readonly rows: readonly Row[]
}

const batchOptions = declareOptions({
  /** The table whose rows `up` and `down` get. It needs a primary key. */
  table: option.text().required(''),
  /** The number of rows in a batch. Default 1,000. */
  size: option.integer(1, 100_000).default(1000),
})

/** `export const batches` of a migration in code: calls `up` for some rows of a table at a time. */
export interface MigrationBatches extends OptionsOf<typeof batchOptions> {}

export type BatchSettings = ValuesOf<typeof batchOptions>

export type MigrationFunction = (context: MigrationContext) => unknown

export interface MigrationModule {
  readonly up: MigrationFunction
  readonly down: MigrationFunction | undefined
  readonly batches: BatchSettings | undefined
}

/** Imports a file. */
export type LoadFile = (file: string) => Promise<Readonly<Record<string, unknown>>>

/** Imports a file as Node.js does. */
export const importFile: LoadFile = async (file) =>
  (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>

/** @throws {DeclarationError} `MIGRATION_FAILED` if the file cannot be loaded, or exports something else */
export async function loadMigration(
  { file }: CodeMigration,
  load: LoadFile,
): Promise<MigrationModule> {
  const where = relative(process.cwd(), file)
  const exported = await load(file).catch((cause: unknown): never => {
    if (cause instanceof DeclarationError) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    const message = `${where} cannot be loaded: ${reason}.`
    throw migrationError('MIGRATION_FAILED', message, 'Correct it.', cause)
  })
  const problems = findProblems(exported, where)
  if (problems.length > 0) throw new DeclarationError(problems)
  const { up, down, batches } = exported
  return {
    up: up as MigrationFunction,
    down: down as MigrationFunction | undefined,
    batches: batches === undefined ? undefined : batchOptions.read(batches),
  }
}

const exportNames = ['up', 'down', 'batches']

function findProblems(exported: Readonly<Record<string, unknown>>, where: string): Problem[] {
  const problem = (message: string, remedy: string): Problem => ({
    code: 'MIGRATION_FAILED',
    message: `${where}: ${message}`,
    remedy,
  })
  const unknown = Object.keys(exported)
    .filter((name) => !exportNames.includes(name))
    .map((name) => {
      const hint = didYouMean(name, exportNames)
      return problem(`unknown export "${name}".`, `${hint} Export up, down and batches.`.trim())
    })
  const { up, down, batches } = exported
  if (typeof up !== 'function')
    unknown.push(
      problem('the function up is missing.', 'Write export const up = async ({ sql }) => { … }.'),
    )
  if (down !== undefined && typeof down !== 'function')
    unknown.push(
      problem('down is not a function.', 'Write export const down = async ({ sql }) => { … }.'),
    )
  if (batches === undefined) return unknown
  return [...unknown, ...batchOptions.findProblems(batches, `${where}, batches`)]
}
