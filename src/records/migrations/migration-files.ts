/**
 * The folder of migrations. A migration in SQL is one file for each engine, `20261121103000_add-price.postgres.sql`: the
 * changes and then, below a line that is exactly `-- down`, the statements that undo them. An engine's files lead from an empty
 * database to the schema of the records. `schema.postgres.json` next to them holds the schema after PostgreSQL's
 * migrations, for developers who are not connected to one. SQLite's migrations are run in memory instead.
 *
 * The first file of an engine that was added later begins with `-- filigree: contains all migrations until <name>`. It makes
 * everything that the other engines' files up to that name make, so these, and older migrations in code, do not run on it.
 *
 * A migration in code is one file for all engines, `20261121103000_fill-price.ts`. It changes rows, not tables.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { DeclarationError, type Problem } from '../../errors/declaration-error.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { dialects } from '../../engines/engine-for-url.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { readLineComments, type LineComment } from '../../engines/contract/sql-script.js'

export type EngineName = Dialect['name']

export type MigrationFile = SqlMigration | CodeMigration

interface NamedMigration {
  /** Without engine and ending: `20261121103000_add-price`. */
  readonly name: string
  /** SHA-256 of the file, in hexadecimal digits. A compiled file has the one of its source. */
  readonly hash: string
}

export interface SqlMigration extends NamedMigration {
  readonly kind: 'sql'
  readonly up: string
  /** Empty if the file has no such part. */
  readonly down: string
  /** If false, each statement is committed by itself. */
  readonly inTransaction: boolean
  /**
   * Set for the first migration of an engine that was added later: it makes everything that the migrations up to this name
   * make on other engines.
   */
  readonly contains: string | undefined
}

export interface CodeMigration extends NamedMigration {
  readonly kind: 'code'
  /** The path of the file, relative to the working folder or absolute. */
  readonly file: string
}

export interface MigrationFolder {
  /** All migrations that run on one engine, oldest first. */
  readonly files: readonly MigrationFile[]
  /** The SQL files among them. They alone lead to the schema of the records. */
  readonly sqlFiles: readonly SqlMigration[]
  /** All migrations in code, also those that the engine's first migration contains. */
  readonly codeFiles: readonly CodeMigration[]
  /** Migrations that other engines have and this one lacks. */
  readonly missing: readonly string[]
  /** The engines that have any SQL file. */
  readonly engines: ReadonlySet<EngineName>
}

/** The engine names that file names may contain. */
const engineNames: readonly EngineName[] = dialects.map(({ name }) => name)

/** @throws {DeclarationError} `MIGRATION_FAILED`, with file and line, for unknown directives and unclear marks */
export async function readMigrations(folder: string, engine: EngineName): Promise<MigrationFolder> {
  const names = await readNames(folder)
  const namesOf = (one: EngineName): string[] => {
    const ending = `.${one}.sql`
    return names
      .filter((name) => name.endsWith(ending))
      .map((name) => name.slice(0, -ending.length))
  }
  const engineFiles = namesOf(engine)
  const all = [...new Set(engineNames.flatMap(namesOf))].sort()
  const sqlFiles = await Promise.all(engineFiles.map((name) => readMigration(folder, name, engine)))
  const codeFiles = await Promise.all(
    names.filter(isCodeFile).map((name) => readCodeMigration(folder, name)),
  )
  checkUnique([...all, ...codeFiles.map(({ name }) => name)])
  const isContained = (name: string): boolean =>
    sqlFiles.some(({ contains }) => contains !== undefined && name <= contains)
  const runningCode = codeFiles.filter(({ name }) => !isContained(name))
  return {
    files: [...sqlFiles, ...runningCode].sort((a, b) => (a.name < b.name ? -1 : 1)),
    sqlFiles,
    codeFiles,
    missing: all.filter((name) => !engineFiles.includes(name) && !isContained(name)),
    engines: new Set(engineNames.filter((one) => namesOf(one).length > 0)),
  }
}

/**
 * @param named the option `--folder`
 * @returns the absolute path: `migrations`, or `dist/migrations` if only this folder exists
 */
export function findMigrationsFolder(cwd: string, named = 'migrations'): string {
  const folder = resolve(cwd, named)
  const built = builtFolderOf(folder)
  return !existsSync(folder) && existsSync(built) ? built : folder
}

/** @returns `dist/migrations` for `migrations` */
export function builtFolderOf(folder: string): string {
  return join(dirname(folder), 'dist', basename(folder))
}

async function readNames(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [] as string[])
  return names.sort()
}

/** @returns true for the name of a migration in code. Other modules of the folder begin without a number */
export function isCodeFile(name: string): boolean {
  return /^\d+_.+(?<!\.d)\.[cm]?[jt]s$/.test(name)
}

/** @throws {DeclarationError} `MIGRATION_FAILED` if two files are one migration, for example a source and its built file */
function checkUnique(names: readonly string[]): void {
  const double = names.find((name, index) => names.indexOf(name) !== index)
  if (double === undefined) return
  throw migrationError(
    'MIGRATION_FAILED',
    `There is more than one file of the migration ${double}.`,
    'Leave either its SQL files or one file of code.',
  )
}

/** @returns the time in the name of the newest file, in milliseconds since 1970; undefined if no name contains one */
export async function newestTimestamp(folder: string): Promise<number | undefined> {
  const names = await readNames(folder)
  const timestamps = names.flatMap((name) => {
    const parts =
      /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)_.+\.(?:sql|[cm]?[jt]s)$/.exec(name)?.slice(1) ?? []
    const [year, month, day, hour, minute, second] = parts
    const timestamp = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
    return Number.isNaN(timestamp) ? [] : [timestamp]
  })
  return timestamps.length === 0 ? undefined : Math.max(...timestamps)
}

/** @returns the file's path */
export function writeMigrationFile(
  folder: string,
  name: string,
  engine: EngineName,
  text: string,
): Promise<string> {
  return writeNewFile(folder, toFileName(name, engine), text)
}

/** @returns the file's path */
export async function writeNewFile(folder: string, name: string, text: string): Promise<string> {
  const file = join(folder, name)
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
): Promise<SqlMigration> {
  const file = toFileName(name, engine)
  const text = await readNormalized(join(folder, file))
  const syntax = dialects.find((one) => one.name === engine)?.can ?? { nestedComments: true }
  const comments = readLineComments(text, syntax)
  const mark = findMark(comments, file)
  return {
    kind: 'sql',
    name,
    up: text.slice(0, mark?.start),
    down: mark === undefined ? '' : text.slice(mark.end).trim(),
    ...readDirective(comments, file),
    hash: hashOf(text),
  }
}

async function readCodeMigration(folder: string, fileName: string): Promise<CodeMigration> {
  const file = join(folder, fileName)
  const text = await readNormalized(file)
  const hash = checksumLine.exec(text)?.[1] ?? hashOf(text)
  return { kind: 'code', name: fileName.replace(/\.\w+$/, ''), file, hash }
}

/** The first line of a compiled migration, so that a database cannot tell it from its source. */
const checksumLine = /^\/\/ filigree: checksum ([0-9a-f]{64})\n/

/** @returns the first line of the compiled form of a migration */
export function toChecksumLine({ hash }: CodeMigration): string {
  return `// filigree: checksum ${hash}\n`
}

async function readNormalized(file: string): Promise<string> {
  return removeByteOrderMark(await readFile(file, 'utf8')).replaceAll('\r\n', '\n')
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
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

/** The first line of an engine's first migration, if other engines have older ones. */
const containsLine = /^contains all migrations until (\S+)$/

/** @returns the first line of a migration that makes everything that the migrations up to this name make */
export function toContainsLine(name: string): string {
  return `-- filigree: contains all migrations until ${name}\n`
}

/** Reads the first line: `-- filigree: no transaction`, or the one of `toContainsLine`. */
function readDirective(
  comments: readonly LineComment[],
  file: string,
): Pick<SqlMigration, 'inTransaction' | 'contains'> {
  let [inTransaction, contains]: [boolean, string | undefined] = [true, undefined]
  for (const { text, line } of comments) {
    const directive = /^\s*-{2,}[\s-]*filigree\s*:(.*)/i.exec(text)?.[1]?.trim()
    if (directive === undefined) continue
    const until = containsLine.exec(directive)?.[1]
    if (until === undefined && directive !== withoutTransaction) {
      const suggestion = didYouMean(directive, [withoutTransaction])
      throw migrationError(
        'MIGRATION_FAILED',
        `${file}, line ${line}: "${directive}" is not a known directive.`,
        `${suggestion} Write "-- filigree: ${withoutTransaction}" as the first line, or no such line.`.trim(),
      )
    }
    if (line > 1 && !(line === 2 && contains !== undefined)) {
      throw migrationError(
        'MIGRATION_FAILED',
        `${file}, line ${line}: "-- filigree: ${directive}" must be the first line.`,
        'Move it there, or remove it.',
      )
    }
    if (until === undefined) inTransaction = false
    else contains = until
  }
  return { inTransaction, contains }
}

export function migrationError(
  code: Problem['code'],
  message: string,
  fix: string,
  cause?: unknown,
): DeclarationError {
  return new DeclarationError(
    [{ code, message, remedy: fix }],
    cause === undefined ? {} : { cause },
  )
}
