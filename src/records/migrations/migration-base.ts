/**
 * Reads the schema after an engine's migrations, without a database, and which engines an application has migrations
 * for.
 */

import { silentLog } from '../../core/log.js'
import { openEngine, dialects } from '../../engines/engine-for-url.js'
import type { Catalogue } from '../../engines/contract/table-schema.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import type { Replay, Dialect } from '../../engines/contract/dialect.js'
import { migrationError, type SqlMigration, readMigrations } from './migration-files.js'
import { frameworkScript } from '../../engines/contract/statement.js'
import { DeclarationError, type Problem } from '../../errors/declaration-error.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { withoutDropped, readSnapshot } from './schema-snapshot.js'

/** @throws {DeclarationError} `MIGRATION_FAILED` if one does not run on an empty database */
async function replayMigrations(
  files: readonly SqlMigration[],
  replay: Replay,
): Promise<Catalogue> {
  const engine = await openEngine(replay.url, { log: silentLog })
  try {
    await engine.schema.change(async (runner) => {
      for (const { name, up } of files) {
        try {
          await runner.run(frameworkScript(up), [], 'nothing')
        } catch (cause) {
          throw cause instanceof EngineError ? replayError(name, cause) : cause
        }
      }
    })
    return await engine.schema.catalogue(engine)
  } finally {
    await engine.close()
  }
}

function replayError(name: string, cause: EngineError): Error {
  const message = `Migration ${name} does not run on an empty database after the earlier migrations: ${cause.message}.`
  return migrationError(
    'MIGRATION_FAILED',
    message,
    'Correct it: the schema after the migrations is found by running them.',
    cause,
  )
}

/** @returns `undefined` if there are migrations but no file with their schema */
export async function readBase(folder: string, dialect: Dialect): Promise<Catalogue | undefined> {
  const { sqlFiles: files } = await readMigrations(folder, dialect.name)
  if (dialect.tables.replay !== undefined) return replayMigrations(files, dialect.tables.replay)
  const snapshot = await readSnapshot(folder, dialect.name)
  if (snapshot === undefined) return files.length === 0 ? new Map() : undefined
  return withoutDropped(snapshot, files, dialect)
}

export function withoutSnapshot({ name, product: { title } }: Dialect): Error {
  return migrationError(
    'MIGRATION_FAILED',
    `There are migrations for ${title}, but schema.${name}.json, which holds the schema after them, is missing.`,
    `Restore it from version control, or make this migration while connected to a ${title} on which they have run.`,
  )
}

/**
 * Finds what the first migration of an engine contains, if other engines have older ones.
 *
 * @returns the name of the newest migration, in SQL or in code
 */
export async function readContained(
  folder: string,
  { name }: Dialect,
): Promise<string | undefined> {
  const { missing, codeFiles } = await readMigrations(folder, name)
  if (missing.length === 0) return undefined
  return [...missing, ...codeFiles.map((file) => file.name)].sort().at(-1)
}

/** An engine that the files of a project do not cover. */
export interface Uncovered {
  readonly engine: string
  /** True if it is the engine of the database in use, and package.json names other engines. */
  readonly isOptional: boolean
  readonly what: string
  /** Names the next command. */
  readonly remedy: string
}

/**
 * Finds the engines without migrations, if other engines have some.
 *
 * @param inUse the engine of the database in use
 * @param engines `"filigree": { "engines": ["postgres"] }` of package.json
 */
export async function findUncovered(
  folder: string,
  inUse: string | undefined,
  engines: readonly string[] | undefined,
): Promise<Uncovered[]> {
  const names = new Set([...(inUse === undefined ? [] : [inUse]), ...(engines ?? [])])
  const uncovered: Uncovered[] = []
  for (const engine of names) {
    const { sqlFiles: files, engines: withFiles } = await readMigrations(folder, engine)
    const isWritten = engines?.includes(engine) ?? true
    if (withFiles.size === 0 || (isWritten && files.length > 0)) continue
    const title = dialects.find(({ name }) => name === engine)?.product.title ?? engine
    const which = engine === inUse ? ', the engine of the database in use' : ''
    const list = JSON.stringify([...(engines ?? []), engine]).replaceAll(',', ', ')
    uncovered.push({
      engine,
      isOptional: !isWritten,
      ...(files.length === 0
        ? {
            what: `There are no migrations for ${title}${which}.`,
            remedy: `Write them: filigree migrate adopt ${engine}.`,
          }
        : {
            what: `No new migrations are written for ${title}${which}.`,
            remedy: `Write "filigree": { "engines": ${list} } into package.json, then run filigree migrate make <name>.`,
          }),
    })
  }
  return uncovered
}

/**
 * @param names `"filigree": { "engines": ["postgres"] }` of package.json
 * @throws {DeclarationError} `MIGRATION_FAILED` for an unknown engine
 */
export function chooseDialects(names: readonly string[] | undefined): readonly Dialect[] {
  if (names === undefined) return dialects
  const knownNames = dialects.map(({ name }) => name)
  const problems = names
    .filter((name) => !knownNames.includes(name))
    .map((name): Problem => ({
      code: 'MIGRATION_FAILED',
      message: `package.json: filigree.engines names "${name}", which is not an engine.`,
      remedy: `${didYouMean(name, knownNames)} There are ${knownNames.join(', ')}.`.trim(),
    }))
  if (problems.length > 0) throw new DeclarationError(problems)
  return dialects.filter(({ name }) => names.includes(name))
}
