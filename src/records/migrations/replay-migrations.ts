/** Finds the schema after an engine's migrations by running them in a temporary, empty database. */
import { silentLog } from '../../core/log.js'
import { openEngine } from '../../engines/engine-for-url.js'
import { migrationFault } from './applied-migrations.js'
import type { Catalogue } from '../../engines/contract/table-schema.js'
import { EngineFault } from '../../engines/contract/engine-error.js'
import type { Replay } from '../../engines/contract/dialect.js'
import type { MigrationFile } from './migration-files.js'
import { ownScript } from '../../engines/contract/statement.js'

/** @throws {DeclarationError} `MIGRATION_FAILED` if one does not run on an empty database */
export async function replayMigrations(
  files: readonly MigrationFile[],
  replay: Replay,
): Promise<Catalogue> {
  const engine = await openEngine(replay.url, { log: silentLog })
  try {
    await engine.changeSchema(async (runner) => {
      for (const { name, up } of files) {
        try {
          await runner.run(ownScript(up), [], 'nothing')
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

function unplayable(name: string, cause: EngineFault): Error {
  const message = `Migration ${name} does not run on an empty database after those before it: ${cause.message}.`
  const error = migrationFault(
    'MIGRATION_FAILED',
    message,
    'Correct it: the schema after the migrations is found by running them.',
  )
  error.cause = cause
  return error
}
