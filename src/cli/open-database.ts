/** Opens the database of an application without starting the application. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Class } from '../metadata/class-metadata.js'
import { readRecord } from '../records/model/record.js'
import { UsageError, type Terminal } from './command.js'
import { toDatabaseOptions, type ClosedChoice } from '../bootstrap/storage.js'
import type { planApplication } from '../bootstrap/plan-application.js'
import { silentLog, type Log } from '../core/log.js'
import { createDatabase, Database } from '../records/database.js'
import {
  defaultUrl,
  dialectNameOf,
  emptyAddress,
  isLocalAddress,
  readOnlyAddress,
} from '../engines/engine-for-url.js'

/**
 * @returns the record of `filigree/jobs`
 * @throws {UsageError} the application does not import `jobs()`
 */
export function findJobRecord(records: readonly Class[]): Class {
  const record = records.find(isJobRecord)
  if (record !== undefined) return record
  throw new UsageError(
    "the application has no jobs. Add imports: [jobs()] from 'filigree/jobs' to its module.",
  )
}

export function isJobRecord(type: Class): boolean {
  return type.name === 'JobEntry' && readRecord(type)?.table === 'jobs'
}

type Plan = Pick<Awaited<ReturnType<typeof planApplication>>, 'records' | 'environment'>

/**
 * @param databaseOption the option `database` of the application. Default: DATABASE_URL
 * @throws {DeclarationError} the database cannot be opened
 */
export async function openDatabase(
  { records, environment }: Plan,
  databaseOption: unknown,
  terminal: Terminal,
): Promise<Database> {
  const database = databaseOption ?? environment.databaseUrl
  const opened =
    database instanceof Database
      ? database
      : await createDatabase({
          records,
          ...toDatabaseOptions(database as ClosedChoice),
          direct: environment.databaseDirectUrl,
          log: warningsTo(terminal),
        })
  for (const record of records) opened.table(record)
  return opened
}

/**
 * @param databaseOption the option `database` of the application
 * @returns the name of the engine, without opening the database. Undefined if the settings do not name it
 */
export function engineInUse({ environment }: Pick<Plan, 'environment'>, databaseOption: unknown) {
  const choice = databaseOption ?? environment.databaseUrl
  if (choice instanceof Database) return choice.engineName
  return typeof choice === 'string' ? dialectNameOf(choice) : undefined
}

export interface ReadDatabase {
  readonly database: Database
  /** True for a file that is opened read-only. */
  readonly isReadOnly: boolean
  /** The file does not exist. The database is an empty one in memory instead. */
  readonly isMissing: boolean
}

/** Opens the database for reading. A database file is opened read-only, and is not created. */
export async function openForReading(
  plan: Plan,
  databaseOption: unknown,
  terminal: Terminal,
): Promise<ReadDatabase> {
  const choice = databaseOption ?? plan.environment.databaseUrl ?? defaultUrl
  const file = typeof choice === 'string' ? fileOf(choice, terminal.cwd) : undefined
  if (typeof choice !== 'string' || file === undefined)
    return {
      ...{ database: await openDatabase(plan, choice, terminal), isReadOnly: false },
      isMissing: false,
    }
  const exists = existsSync(file)
  const address = exists ? readOnlyAddress(choice) : emptyAddress
  const database = await openDatabase(plan, address, terminal)
  return { database, isReadOnly: exists, isMissing: !exists }
}

/** @returns the path of a database file. Undefined for servers and databases in memory */
export function fileOf(address: string, cwd: string): string | undefined {
  if (!isLocalAddress(address)) return undefined
  const path = address.slice(address.indexOf(':') + 1).split('?')[0] ?? ''
  return path === '' || path.startsWith(':')
    ? undefined
    : resolve(cwd, path.replace(/^\/\/(?=\/)/, ''))
}

/** A log that prints warnings, for example while the database waits for a lock. */
function warningsTo({ err }: Terminal): Log {
  const warn = (_details: object, message: string): void => {
    void err(`${message}\n`)
  }
  return { ...silentLog, warn, error: warn }
}
