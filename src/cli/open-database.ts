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

/** The record of jobs, if an application has them. */

/** @throws {UsageError} it is not among the records of the application */
export function findJobs(records: readonly Class[]): Class {
  const found = records.find(isJobs)
  if (found !== undefined) return found
  throw new UsageError(
    "the application has no jobs. Import them: imports: [jobs()], from 'filigree/jobs'.",
  )
}

export function isJobs(type: Class): boolean {
  return type.name === 'JobEntry' && readRecord(type)?.table === 'jobs'
}

type Plan = Pick<Awaited<ReturnType<typeof planApplication>>, 'records' | 'environment'>

/** @param given the option `database` of the application. @throws {DeclarationError} as `connect` does */
export async function openDatabase(
  { records, environment }: Plan,
  given: unknown,
  terminal: Terminal,
): Promise<Database> {
  const database = given ?? environment.databaseUrl
  const open =
    database instanceof Database
      ? database
      : await createDatabase({
          records,
          ...toDatabaseOptions(database as ClosedChoice),
          direct: environment.databaseDirectUrl,
          log: warningsTo(terminal),
        })
  for (const record of records) open.table(record)
  return open
}

/**
 * @param given the option `database` of the application
 * @returns the engine that the settings name, without opening the database; `undefined` if they name none, or if only the
 * engine itself knows
 */
export function engineInUse({ environment }: Pick<Plan, 'environment'>, given: unknown) {
  const choice = given ?? environment.databaseUrl
  if (choice instanceof Database) return choice.engineName
  return typeof choice === 'string' ? dialectNameOf(choice) : undefined
}

export interface ReadDatabase {
  readonly database: Database
  /** Nothing can be written to it. */
  readonly isReadOnly: boolean
  /** Its file is not there yet: an empty one in memory stands for it. */
  readonly isMissing: boolean
}

/** To be read alone, where it is a file; one that is not there is not made. */
export async function openForReading(
  plan: Plan,
  given: unknown,
  terminal: Terminal,
): Promise<ReadDatabase> {
  const choice = given ?? plan.environment.databaseUrl ?? defaultUrl
  const file = typeof choice === 'string' ? fileOf(choice, terminal.cwd) : undefined
  if (typeof choice !== 'string' || file === undefined)
    return {
      ...{ database: await openDatabase(plan, choice, terminal), isReadOnly: false },
      isMissing: false,
    }
  const isThere = existsSync(file)
  const address = isThere ? readOnlyAddress(choice) : emptyAddress
  const database = await openDatabase(plan, address, terminal)
  return { database, isReadOnly: isThere, isMissing: !isThere }
}

/** @returns undefined for a server's database, and one in memory */
export function fileOf(address: string, cwd: string): string | undefined {
  if (!isLocalAddress(address)) return undefined
  const path = address.slice(address.indexOf(':') + 1).split('?')[0] ?? ''
  return path === '' || path.startsWith(':')
    ? undefined
    : resolve(cwd, path.replace(/^\/\/(?=\/)/, ''))
}

/** Shows warnings, for example while it waits for a lock. */
function warningsTo({ err }: Terminal): Log {
  const warn = (_details: object, message: string): void => {
    void err(`${message}\n`)
  }
  return { ...silentLog, warn, error: warn }
}
