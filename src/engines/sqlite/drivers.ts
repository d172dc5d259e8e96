/** Selects a SQLite driver at the start: the driver of the runtime, otherwise the package better-sqlite3. */
import { DeclarationError } from '../../errors/declaration-error.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { loadBetterSqlite, supportedMajor } from './better-sqlite.js'
import { loadBunSqlite } from './bun-sqlite.js'
import type { DriverName, SqliteDriver } from './driver.js'
import { loadNodeSqlite } from './node-sqlite.js'

const drivers: Readonly<Record<DriverName, () => SqliteDriver | Promise<SqliteDriver>>> = {
  'bun:sqlite': loadBunSqlite,
  'node:sqlite': loadNodeSqlite,
  'better-sqlite3': loadBetterSqlite,
}

/** In the order in which they are tried if the database URL names none. */
export const driverNames = Object.keys(drivers) as readonly DriverName[]

/**
 * @param requested the only allowed driver, from `?driver=` in the database URL. Default: the first one that can be
 * loaded
 * @throws {DeclarationError} the driver is unknown, or it cannot be loaded
 */
export async function chooseDriver(requested?: string): Promise<SqliteDriver> {
  if (requested !== undefined && !isDriverName(requested)) throw unknownDriver(requested)
  const causes: unknown[] = []
  for (const name of requested === undefined ? driverNames : [requested]) {
    try {
      return await drivers[name]()
    } catch (cause) {
      causes.push(cause)
    }
  }
  throw missingDriver(requested, causes.at(-1))
}

function isDriverName(name: string): name is DriverName {
  return Object.hasOwn(drivers, name)
}

function unknownDriver(requested: string): DeclarationError {
  const fix = `${didYouMean(requested, driverNames)} Write one of: ${driverNames.join(', ')}.`
  return new DeclarationError([
    {
      code: 'DATABASE_URL',
      message: `The database's parameter driver is "${requested}", which is not a driver of SQLite.`,
      remedy: fix.trim(),
    },
  ])
}

function missingDriver(requested: DriverName | undefined, cause: unknown): DeclarationError {
  const { message } = (cause ?? {}) as { message?: unknown }
  const reason = typeof message === 'string' ? message : String(cause)
  const subject =
    requested === undefined
      ? 'The embedded database needs a SQLite driver and found none'
      : `The driver ${requested}, which the database URL requests, cannot be loaded`
  const error = new DeclarationError([
    {
      code: 'DATABASE_DRIVER_MISSING',
      message: `${subject}: ${reason.split('\n')[0]?.replace(/\.$/, '') ?? ''}.`,
      remedy: fixFor(requested, reason),
    },
  ])
  error.cause = cause
  return error
}

function fixFor(requested: DriverName | undefined, reason: string): string {
  const { bun, deno, node } = process.versions as Partial<Record<string, string>>
  if (bun !== undefined) return 'Leave out driver=, or update Bun: bun upgrade'
  if (deno !== undefined) return 'Leave out driver=, or update Deno: deno upgrade'
  if (requested === 'bun:sqlite') return 'Leave out driver=, or run the application with Bun.'
  if (requested === 'node:sqlite') return 'Leave out driver=, or use Node 22.16 or newer.'
  // The right version is installed, but it was compiled for another Node.
  if (/bindings file|NODE_MODULE_VERSION/.test(reason)) return 'Run: npm rebuild better-sqlite3'
  return `Run: npm install better-sqlite3@${supportedMajor(Number(node?.split('.')[0]))}`
}
