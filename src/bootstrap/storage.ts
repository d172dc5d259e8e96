/**
 * The application's database: it is opened before any provider is created; its schema is updated to the records or, in
 * production, compared with them; sessions and revocations are stored in it.
 */
import { createMemoryStore, type SessionStore } from '../sessions/session-store.js'
import type { Revocations } from '../auth/revocations.js'
import type { SignIns } from '../auth/sign-ins.js'
import type { Successors } from '../auth/successors.js'
import type { Clock } from '../core/clock.js'
import { LentLog, type Log } from '../core/log.js'
import { DeclarationError } from '../errors/declaration-error.js'
import { rejectUnknownOptions } from '../errors/unknown-options.js'
import type { Class } from '../metadata/class-metadata.js'
import { createDatabase, Database } from '../records/database.js'
import type { DatabaseOptions } from '../records/database-options.js'
import type { Database as PublicDatabase } from '../records/public-database.js'
import { splitAddresses } from '../engines/engine-for-url.js'
import type { EngineSource } from '../engines/contract/engine.js'
import { createDatabaseRevocations } from '../records/revocations.js'
import { createDatabaseSessionStore } from '../records/session-store.js'
import { createDatabaseSignIns, createDatabaseSuccessors } from '../records/sign-ins.js'
import { readScans, ScanLog } from '../records/scan-log.js'
import { servedRoute } from '../serving/current-request.js'
import { closeInTime, whileResponsive, toStartError } from './database-start.js'

export interface TokenStores {
  readonly revocations: Revocations
  readonly successors: Successors
  readonly signIns: SignIns
}

export interface Storage {
  /** `undefined` if the application does not need one. */
  readonly database: Database | undefined
  readonly sessions: SessionStore
  /** The stores of tokens. `undefined`: in memory. */
  readonly tokens: TokenStores | undefined
  /** Closes the database if it was opened here; one that the application opened stays open. */
  close(): Promise<void>
}

/** The values of the option `database`. */
export type DatabaseChoice =
  string | PublicDatabase | EngineSource | { readonly engine: EngineSource }

/** A database that is not open yet. */
export type ClosedChoice = Exclude<DatabaseChoice, PublicDatabase>

/**
 * The options for opening a database.
 *
 * @throws {DeclarationError} if the object has other properties than `engine`
 */
export function toDatabaseOptions(
  choice: ClosedChoice | undefined,
): Pick<DatabaseOptions, 'url' | 'engine'> {
  if (choice === undefined) return {}
  if (typeof choice === 'string') return { url: choice }
  // Reported with the other options.
  if (typeof (choice as unknown) !== 'object' || (choice as unknown) === null) return {}
  if (!('engine' in choice)) return { engine: choice }
  const problems = rejectUnknownOptions(choice, ['engine'], 'bootstrap database')
  if (problems.length > 0) throw new DeclarationError(problems)
  return { engine: choice.engine }
}

export interface StorageOptions {
  /** A URL, an engine, an open database, or undefined: then `DATABASE_URL`, else a file. */
  readonly database: DatabaseChoice | undefined
  /** `DATABASE_DIRECT_URL`, if set. */
  readonly direct: string | undefined
  /** `DATABASE_REPLICAS`, if set. */
  readonly replicas: string | undefined
  readonly records: readonly Class[]
  /** True if a provider or handler needs the database, even without records. */
  readonly requiresDatabase: boolean
  /** If true, the schema is only compared. */
  readonly production: boolean
  /** The application's own session store. */
  readonly sessions: SessionStore | undefined
  /** How many matches a client's search ranks, of records that do not say it. */
  readonly searchLimit: number | undefined
  /** Milliseconds after which the server cancels a statement. */
  readonly statementTimeout: number
  readonly clock: Clock
  readonly log: Log
}

const readOnly =
  'the database is a replica or read-only: reads are answered, writes are 503, and its schema is not changed'

/**
 * @throws {DeclarationError} a missing driver, a refused connection, faulty records, in production a different schema
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { database: choice, direct, replicas, records, log, statementTimeout } = options
  const opensDatabase = choice !== undefined || records.length > 0 || options.requiresDatabase
  if (!opensDatabase) {
    return {
      database: undefined,
      sessions: options.sessions ?? createMemoryStore(),
      tokens: undefined,
      close: () => Promise.resolve(),
    }
  }
  const isOwn = !(choice instanceof Database)
  const database = isOwn
    ? await createDatabase({
        direct,
        replicas: replicas === undefined ? undefined : splitAddresses(replicas),
        records,
        log,
        statementTimeout,
        searchLimit: options.searchLimit,
        now: () => options.clock.now(),
        ...toDatabaseOptions(choice as ClosedChoice),
      })
    : choice
  const returnLog = database.log instanceof LentLog ? database.log.lend(log) : undefined
  let scans: ScanLog | undefined
  const close = async (): Promise<void> => {
    await scans?.close()
    returnLog?.()
    if (isOwn) await database.close()
  }
  const open = async (): Promise<Storage> => {
    for (const record of records) database.table(record)
    const { isReadOnly } = database.context.engine
    if (isReadOnly === true) log.warn({}, readOnly)
    await (options.production || isReadOnly ? database.verify() : database.sync())
    if (isOwn && !options.production && isReadOnly !== true) {
      for (const advice of await readScans(database))
        log.warn({}, `A query reads a whole table. ${advice}`)
      scans = new ScanLog(database, servedRoute)
    }
    return {
      database,
      sessions: options.sessions ?? (await createDatabaseSessionStore(database)),
      tokens: {
        revocations: await createDatabaseRevocations(database, { clock: options.clock }),
        successors: await createDatabaseSuccessors(database),
        signIns: await createDatabaseSignIns(database),
      },
      close,
    }
  }
  try {
    return await whileResponsive(database, open)
  } catch (error) {
    await closeInTime(close)
    throw toStartError(error)
  }
}
