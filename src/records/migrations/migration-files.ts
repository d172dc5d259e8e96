/**
 * The folder of migrations. A migration is one file for each engine, `20261121103000_add-price.postgres.sql`: the
 * changes and then, below a line that is exactly `-- down`, the statements that undo them. An engine's files lead from an empty
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
import { readLineComments, type LineComment } from '../../engines/contract/sql-script.js'

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

/** @throws {DeclarationError} `MIGRATION_FAILED`, with file and line, for unknown directives and unclear marks */
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
  const file = toFileName(name, engine)
  const read = await readFile(join(folder, file), 'utf8')
  const text = removeByteOrderMark(read).replaceAll('\r\n', '\n')
  const syntax = dialects.find((one) => one.name === engine)?.can ?? { nestedComments: true }
  const comments = readLineComments(text, syntax)
  const mark = findMark(comments, file)
  return {
    name,
    up: text.slice(0, mark?.start),
    down: mark === undefined ? '' : text.slice(mark.end).trim(),
    inTransaction: !isWithoutTransaction(comments, file),
    hash: createHash('sha256').update(text).digest('hex'),
  }
}

/** Some editors write one at the beginning of a file. Databases do not accept it. */
export function removeByteOrderMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}

const downMark = '-- down'

/** Other spellings, and the marks of other tools: `--down`, `-- Down:`, `-- down payments`, `-- migrate:down`. */
const likeDownMark = /^\s*-{2,}[\s-]*(?:\+\w+\s+|\w+:|@)?down\b(?!\.\w)/i

/**
 * @returns the line `-- down`, if the file has one
 * @throws {DeclarationError} `MIGRATION_FAILED` for a second one, or a line that may be meant as one: with a wrong guess,
 * statements would run that must not, or be left out
 */
function findMark(comments: readonly LineComment[], file: string): LineComment | undefined {
  let mark: LineComment | undefined
  for (const comment of comments) {
    const { text, line } = comment
    if (text.trimEnd() === downMark) {
      if (mark !== undefined) {
        throw migrationError(
          'MIGRATION_FAILED',
          `${file}, line ${line}: "${downMark}" is in line ${mark.line} already.`,
          'Write all statements that undo the migration below one such line.',
        )
      }
      mark = comment
    } else if (likeDownMark.test(text)) {
      throw migrationError(
        'MIGRATION_FAILED',
        `${file}, line ${line}: "${text.trim()}" resembles the line "${downMark}", which divides a migration.`,
        `Write exactly "${downMark}" where the statements that undo it begin. Begin other comments with another word.`,
      )
    }
  }
  return mark
}

const withoutTransaction = 'no transaction'

/** Reads the first line, `-- filigree: no transaction`. */
function isWithoutTransaction(comments: readonly LineComment[], file: string): boolean {
  let isFound = false
  for (const { text, line } of comments) {
    const directive = /^\s*-{2,}[\s-]*filigree\s*:(.*)/i.exec(text)?.[1]?.trim()
    if (directive === undefined) continue
    if (directive !== withoutTransaction) {
      const suggestion = didYouMean(directive, [withoutTransaction])
      throw migrationError(
        'MIGRATION_FAILED',
        `${file}, line ${line}: "${directive}" is not a known directive.`,
        `${suggestion} Write "-- filigree: ${withoutTransaction}" as the first line, or no such line.`.trim(),
      )
    }
    if (line > 1) {
      throw migrationError(
        'MIGRATION_FAILED',
        `${file}, line ${line}: "-- filigree: ${withoutTransaction}" must be the first line.`,
        'Move it there, or remove it.',
      )
    }
    isFound = true
  }
  return isFound
}

export function migrationError(
  code: Problem['code'],
  message: string,
  fix: string,
): DeclarationError {
  return new DeclarationError([{ code, message, remedy: fix }])
}
