/**
 * The folder of migrations. A migration is one file for each engine, `20261121103000_add-price.postgres.sql`: what is done,
 * then, below a line `-- down`, what takes it back. An engine's files lead from nothing to what the records want there.
 * Beside them `schema.postgres.json` says where PostgreSQL's lead, for those who are not connected to one; SQLite's are
 * run in memory for that.
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DeclarationError } from '../../errors/declaration-error.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { dialects } from '../engines/engine-for-url.js'
import type { Dialect } from '../engines/engine.js'

export type EngineName = Dialect['name']

export interface MigrationFile {
  /** Without engine and ending: `20261121103000_add-price`. */
  readonly name: string
  readonly up: string
  /** Empty where the file does not say. */
  readonly down: string
  /** False: each statement is committed by itself. */
  readonly inTransaction: boolean
  readonly hash: string
}

export interface MigrationFolder {
  /** Of one engine, oldest first. */
  readonly files: readonly MigrationFile[]
  /** Of migrations that other engines have and this one lacks, though it has an older one or none at all. */
  readonly missing: readonly string[]
  /** The engines that have any file. */
  readonly engines: ReadonlySet<EngineName>
}

/** What files may be named by. */
const engineNames: readonly EngineName[] = dialects.map(({ name }) => name)

/** @throws {DeclarationError} `MIGRATION_FAILED` for a first line that is not understood */
export async function readMigrations(folder: string, engine: EngineName): Promise<MigrationFolder> {
  const names = (await readdir(folder).catch(() => [] as string[])).sort()
  const namesOf = (one: EngineName): string[] => {
    const ending = `.${one}.sql`
    return names
      .filter((name) => name.endsWith(ending))
      .map((name) => name.slice(0, -ending.length))
  }
  const own = namesOf(engine)
  const all = [...new Set(engineNames.flatMap(namesOf))].sort()
  // What is older than the engine's first file is in that: it was made from nothing.
  const missing = all.filter(
    (name) => !own.includes(name) && !(own[0] !== undefined && name < own[0]),
  )
  return {
    files: await Promise.all(own.map((name) => readMigration(folder, name, engine))),
    missing,
    engines: new Set(engineNames.filter((one) => namesOf(one).length > 0)),
  }
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
  const note = /^-- *filigree:(.*)/.exec(text)?.[1]?.trim()
  if (note === undefined) return false
  if (note === withoutTransaction) return true
  const meant = didYouMean(note, [withoutTransaction])
  throw new DeclarationError([
    {
      code: 'MIGRATION_FAILED',
      message: `${file}: "${note}" in the first line is not understood.`,
      remedy: `${meant} Write "-- filigree: ${withoutTransaction}" or no such line.`.trim(),
    },
  ])
}
