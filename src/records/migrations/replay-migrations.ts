/** Finds out where an engine's migrations lead, by running them in a database that is empty and gone afterwards. */
import { silentLog } from '../../core/log.js'
import { openEngine } from '../engines/engine-for-url.js'
import { migrationFault } from './applied-migrations.js'
import type { Catalogue } from '../schema/catalogue.js'
import { EngineFault } from '../engines/engine.js'
import type { Replay } from '../engines/table-changes.js'
import type { MigrationFile } from './migration-files.js'

/** @throws {DeclarationError} `MIGRATION_FAILED`: one cannot be run from nothing */
export async function replayMigrations(
  files: readonly MigrationFile[],
  replay: Replay,
): Promise<Catalogue> {
  const engine = await openEngine(replay.url, { log: silentLog })
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
