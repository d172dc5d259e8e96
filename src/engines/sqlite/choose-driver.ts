/** Selects the driver of SQLite at the start: the runtime's own one, otherwise the package better-sqlite3. */
import { DeclarationError } from '../../errors/declaration-error.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { fittingMajor, loadBetterSqlite } from './better-sqlite3.js'
import { loadBunSqlite } from './bun-sqlite.js'
import type { Driver, DriverName } from './driver.js'
import { loadNodeSqlite } from './node-sqlite.js'

const drivers: Readonly<Record<DriverName, () => Driver | Promise<Driver>>> = {
  'bun:sqlite': loadBunSqlite,
  'node:sqlite': loadNodeSqlite,
  'better-sqlite3': loadBetterSqlite,
}

/** In the order in which they are tried. */
export const driverNames = Object.keys(drivers) as readonly DriverName[]

/**
 * @param wanted the only allowed driver: `?driver=` of the address; else the first one that can be loaded
 * @throws {DeclarationError} there is no such driver, or it cannot be loaded here
 */
export async function chooseDriver(wanted?: string): Promise<Driver> {
  if (wanted !== undefined && !isDriverName(wanted)) throw unknownDriver(wanted)
  const causes: unknown[] = []
  for (const name of wanted === undefined ? driverNames : [wanted]) {
    try {
      return await drivers[name]()
    } catch (cause) {
      causes.push(cause)
    }
  }
  throw missingDriver(wanted, causes.at(-1))
}

function isDriverName(name: string): name is DriverName {
  return Object.hasOwn(drivers, name)
}

function unknownDriver(wanted: string): DeclarationError {
  const remedy = `${didYouMean(wanted, driverNames)} Write one of: ${driverNames.join(', ')}.`
  return new DeclarationError([
    {
      code: 'DATABASE_URL',
      message: `The database's parameter driver is "${wanted}", which is not a driver of SQLite.`,
      remedy: remedy.trim(),
    },
  ])
}

function missingDriver(wanted: DriverName | undefined, cause: unknown): DeclarationError {
  const { message } = (cause ?? {}) as { message?: unknown }
  const reason = typeof message === 'string' ? message : String(cause)
  const subject =
    wanted === undefined
      ? 'The embedded database finds no driver of SQLite'
      : `The driver ${wanted}, which the database's address asks for, cannot be loaded`
  const error = new DeclarationError([
    {
      code: 'DATABASE_DRIVER_MISSING',
      message: `${subject}: ${reason.split('\n')[0]?.replace(/\.$/, '') ?? ''}.`,
      remedy: remedyFor(wanted, reason),
    },
  ])
  error.cause = cause
  return error
}

/** The remedy for this runtime. */
function remedyFor(wanted: DriverName | undefined, reason: string): string {
  const { bun, deno, node } = process.versions as Partial<Record<string, string>>
  if (bun !== undefined) return 'Leave out driver=, or update Bun: bun upgrade'
  if (deno !== undefined) return 'Leave out driver=, or update Deno: deno upgrade'
  if (wanted === 'bun:sqlite') return 'Leave out driver=, or run the application with Bun.'
  if (wanted === 'node:sqlite') return 'Leave out driver=, or use Node 22.16 or newer.'
  // The right version is installed, but it was compiled for another Node.
  if (/bindings file|NODE_MODULE_VERSION/.test(reason)) return 'Run: npm rebuild better-sqlite3'
  return `Run: npm install better-sqlite3@${fittingMajor(Number(node?.split('.')[0]))}`
}
