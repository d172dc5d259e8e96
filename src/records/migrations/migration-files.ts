/**
 * The folder of migrations. A migration is one file for each engine, `20261121103000_add-price.postgres.sql`: the
 * changes and then, below a line `-- down`, the statements that undo them. An engine's files lead from an empty
 * database to the schema of the records. `schema.postgres.json` next to them holds the schema after PostgreSQL's
 * migrations, for developers who are not connected to one. SQLite's migrations are run in memory instead.
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DeclarationError, type Problem } from '../../errors/declaration-error.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { dialects } from '../../engines/engine-for-url.js'
import type { Dialect } from '../../engines/contract/dialect.js'

export type EngineName = Dialect['name']

export interface MigrationFile {
  /** Without engine and ending: `20261121103000_add-price`. */
  readonly name: string
  readonly up: string
  /** Empty if the file has no such part. */
  readonly down: string
  /** If false, each statement is committed by itself. */
  readonly inTransaction: boolean
  readonly hash: string
}

export interface MigrationFolder {
  /** The files of one engine, oldest first. */
  readonly files: readonly MigrationFile[]
  /** Migrations that other engines have and this one lacks. */
  readonly missing: readonly string[]
  /** The engines that have any file. */
  readonly engines: ReadonlySet<EngineName>
}

/** The engine names that file names may contain. */
const engineNames: readonly EngineName[] = dialects.map(({ name }) => name)

/** @throws {DeclarationError} `MIGRATION_FAILED` for an unknown directive in the first line */
export async function readMigrations(folder: string, engine: EngineName): Promise<MigrationFolder> {
  const names = (await readdir(folder).catch(() => [] as string[])).sort()
  const namesOf = (one: EngineName): string[] => {
    const ending = `.${one}.sql`
    return names
      .filter((name) => name.endsWith(ending))
      .map((name) => name.slice(0, -ending.length))
  }
  const engineFiles = namesOf(engine)
  const all = [...new Set(engineNames.flatMap(namesOf))].sort()
  return {
    files: await Promise.all(engineFiles.map((name) => readMigration(folder, name, engine))),
    missing: all.filter((name) => !engineFiles.includes(name)),
    engines: new Set(engineNames.filter((one) => namesOf(one).length > 0)),
  }
}

/** @returns the time in the name of the newest file, in milliseconds since 1970; undefined if no name contains one */
export async function newestTimestamp(folder: string): Promise<number | undefined> {
  const names = await readdir(folder).catch(() => [] as string[])
  const timestamps = names.flatMap((name) => {
    const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)_.+\.sql$/.exec(name)?.slice(1) ?? []
    const [year, month, day, hour, minute, second] = parts
    const timestamp = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
    return Number.isNaN(timestamp) ? [] : [timestamp]
  })
  return timestamps.length === 0 ? undefined : Math.max(...timestamps)
}

/** @returns the file's path */
export async function writeMigrationFile(
  folder: string,
  name: string,
  engine: EngineName,
  text: string,
): Promise<string> {
  const file = join(folder, toFileName(name, engine))
  await mkdir(folder, { recursive: true })
  await writeFile(file, text, { flag: 'wx' })
  return file
}

export function toFileName(name: string, engine: EngineName): string {
  return `${name}.${engine}.sql`
}

async function readMigration(
  folder: string,
  name: string,
  engine: EngineName,
): Promise<MigrationFile> {
  const text = (await readFile(join(folder, toFileName(name, engine)), 'utf8')).replaceAll(
    '\r\n',
    '\n',
  )
  const [up = '', down = ''] = text.split(/^-- down\b.*$/m)
  return {
    name,
    up,
    down: down.trim(),
    inTransaction: !isWithoutTransaction(text, toFileName(name, engine)),
    hash: createHash('sha256').update(text).digest('hex'),
  }
}

const withoutTransaction = 'no transaction'

/** Reads the first line, `-- filigree: no transaction`. */
function isWithoutTransaction(text: string, file: string): boolean {
  const directive = /^-- *filigree:(.*)/.exec(text)?.[1]?.trim()
  if (directive === undefined) return false
  if (directive === withoutTransaction) return true
  const suggestion = didYouMean(directive, [withoutTransaction])
  throw new DeclarationError([
    {
      code: 'MIGRATION_FAILED',
      message: `${file}: "${directive}" in the first line is not a known directive.`,
      remedy: `${suggestion} Write "-- filigree: ${withoutTransaction}" or no such line.`.trim(),
    },
  ])
}

export function migrationError(
  code: Problem['code'],
  message: string,
  fix: string,
): DeclarationError {
  return new DeclarationError([{ code, message, remedy: fix }])
}
