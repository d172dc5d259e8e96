/** The package that an application installs itself for `postgres://`. */
import { installCommand } from '../../core/install-command.js'
import type { MissingPackage } from '../../errors/missing-package.js'

/** What is reported where it is not installed. */
export const pg: MissingPackage = {
  name: 'pg',
  code: 'DATABASE_DRIVER_MISSING',
  message: 'A database at postgres:// needs the package pg, which is not installed.',
  remedy: `Run: ${installCommand('pg')}`,
}
