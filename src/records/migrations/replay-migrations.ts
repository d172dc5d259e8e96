/** Finds out where SQLite's migrations lead: by running them in memory. */
import { silentLog } from '../../core/log.js'
import { migrationFault } from './applied-migrations.js'
import type { Catalogue } from '../schema/catalogue.js'
import { EngineFault, type Runner } from '../engines/engine.js'
import { openEngine } from '../engines/engine-for-url.js'
import type { MigrationFile } from './migration-files.js'

/** @throws {DeclarationError} `MIGRATION_FAILED`: one cannot be run from nothing */
export async function replaySqlite(files: readonly MigrationFile[]): Promise<Catalogue> {
  const engine = await openEngine('sqlite::memory:', { log: silentLog })
  try {
    await engine.changeSchema(async (runner) => {
      for (const { name, up } of files) {
        try {
          await runner.script(up)
        } catch (cause) {
          throw cause instanceof EngineFault ? unplayable(name, cause) : cause
        }
      }
    })
    return await engine.catalogue(engine)
  } finally {
    await engine.close()
  }
}

/** A migration's text that makes the tables of a SQLite database as they are. */
export async function dumpSqlite(runner: Runner): Promise<string> {
  const { rows } = await runner.query({ sql: schemaSql, writes: false }, [])
  const statements = rows.map(([sql]) => `${String(sql)};\n`)
  return `-- The database as it was before it had migrations.\n${statements.join('\n')}`
}

const schemaSql = `select sql from sqlite_schema
  where sql is not null and tbl_name not glob 'sqlite_*' and tbl_name not glob 'filigree_*' order by rowid`

function unplayable(name: string, cause: EngineFault): Error {
  const message = `Migration ${name} does not run on an empty database after those before it: ${cause.message}.`
  const error = migrationFault(
    'MIGRATION_FAILED',
    message,
    'Correct it: by that is known where they lead.',
  )
  error.cause = cause
  return error
}
