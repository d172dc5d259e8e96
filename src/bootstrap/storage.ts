/**
 * The application's database. It is opened before any provider is created. Its schema is updated to the records or, in
 * production, compared with them. Sessions and revocations are stored in it. A database that fails or stops responding
 * during the start is reported.
 */

import { setTimeout as wait } from 'node:timers/promises'
import { asProblems, DeclarationError, type Problem } from '../errors/declaration-error.js'
import { HttpError } from '../errors/http-error.js'
import { EngineError } from '../engines/contract/engine-error.js'
import { findPartitionWarnings } from '../records/schema/maintain-partitions.js'
import { createDatabase } from '../records/connect.js'
import { Database } from '../records/database.js'
import { createMemoryStore, type SessionStore } from '../auth/session-stores.js'
import type { Revocations } from '../auth/revocations.js'
import type { SignIns } from '../auth/sign-ins.js'
import type { Successors } from '../auth/successors.js'
import type { Clock } from '../core/time.js'
import { LentLog, type Log } from '../core/log.js'
import type { Class } from '../metadata/class.js'
import { databaseOptions, type DatabaseOptions } from '../records/database-options.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import type { Database as PublicDatabase } from '../records/public-database.js'
import { fileOfAddress, isLocalAddress } from '../engines/database-address.js'
import { splitAddresses } from '../engines/engine-for-url.js'
import type { EngineSource } from '../engines/contract/engine.js'
import {
  createDatabaseSignIns,
  createDatabaseSuccessors,
  createDatabaseSessionStore,
} from '../records/auth-stores.js'
import { createDatabaseRevocations } from '../records/revocation-store.js'
import { findUncovered, type Uncovered } from '../records/migrations/migration-base.js'
import { findMigrationsFolder } from '../records/migrations/migration-files.js'
import { readScans, ScanLog } from '../records/scan-log.js'
import { servedRoute } from '../serving/current-request.js'

interface TokenStores {
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

const engineChoice = declareOptions({ engine: databaseOptions.all.engine.required() })

/** The values of the option `database`. */
export type DatabaseChoice =
  string | PublicDatabase | EngineSource | Readonly<OptionsOf<typeof engineChoice>>

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
  const problems = engineChoice.findProblems(choice, 'bootstrap database')
  if (problems.length > 0) throw new DeclarationError(problems)
  return { engine: choice.engine }
}

interface StorageOptions {
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
  /** Maximum number of matches that a client's search ranks, for records without their own limit. */
  readonly searchLimit: number | undefined
  /** Milliseconds after which the server cancels a statement. */
  readonly statementTimeout: number
  readonly clock: Clock
  readonly log: Log
}

const readOnly =
  'the database is a replica or read-only: writes are rejected with 503, and the schema is not changed'

/**
 * @throws {DeclarationError} a missing driver, a refused connection, invalid records, in production a different schema
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
  const opensDatabaseItself = !(choice instanceof Database)
  const database = opensDatabaseItself
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
  const restoreLog = database.log instanceof LentLog ? database.log.lend(log) : undefined
  let scans: ScanLog | undefined
  const close = async (): Promise<void> => {
    await scans?.close()
    restoreLog?.()
    if (opensDatabaseItself) await database.close()
  }
  const open = async (): Promise<Storage> => {
    for (const record of records) database.table(record)
    const isReadOnly = database.context.engine.status.isReadOnly()
    if (isReadOnly) log.warn({}, readOnly)
    await (options.production || isReadOnly ? verifySchema(database) : database.sync())
    for (const { message } of await findPartitionWarnings(database.tables, database.context))
      log.warn({}, `${message} Create it: npx filigree partitions.`)
    if (opensDatabaseItself && !options.production && !isReadOnly) {
      if (!isInMemory(choice)) await warnUncovered(database, log)
      for (const advice of await readScans(database))
        log.warn({}, `A query reads a complete table. ${advice}`)
      scans = new ScanLog(database, servedRoute)
    }
    database.routeOf = servedRoute
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

// An engine without migrations, while another one has some.

/** @throws {DeclarationError} `SCHEMA_DIFFERS`, which names the next command */
async function verifySchema(database: Database): Promise<void> {
  try {
    await database.verify()
  } catch (error) {
    const uncovered = error instanceof DeclarationError ? await readUncovered(database) : undefined
    if (!(error instanceof DeclarationError) || uncovered === undefined) throw error
    const remedy = `${uncovered.what} ${uncovered.remedy} Then run filigree migrate up.`
    const problems = asProblems(error.problems).map((problem) =>
      problem.remedy.includes('filigree migrate up') ? { ...problem, remedy } : problem,
    )
    throw new DeclarationError(problems, { cause: error.cause })
  }
}

function isInMemory(choice: unknown): boolean {
  if (typeof choice !== 'string') return choice !== undefined
  return isLocalAddress(choice) && fileOfAddress(choice) === undefined
}

async function warnUncovered(database: Database, log: Log): Promise<void> {
  const uncovered = await readUncovered(database)
  if (uncovered !== undefined) log.warn({}, `${uncovered.what} ${uncovered.remedy}`)
}

/** The commands report files that cannot be read. */
function readUncovered({ engineName }: Database): Promise<Uncovered | undefined> {
  const folder = findMigrationsFolder(process.cwd())
  return findUncovered(folder, engineName, undefined).then(
    ([uncovered]) => uncovered,
    () => undefined,
  )
}

// A database that fails or stops responding during the start.

/** @returns the error itself, or a report with a fix if the database failed */
export function toStartError(error: unknown): unknown {
  const cause = error instanceof HttpError && error.status === 503 ? error.cause : error
  if (!(cause instanceof EngineError) || (cause === error && cause.kind !== 'unavailable'))
    return error
  const problem: Problem = cause.needsSession
    ? {
        code: 'DATABASE_POOLED',
        message:
          'The database is behind a pooler without sessions, and the application follows changes of rows (@CacheFor, onChange everywhere), which needs a session.',
        remedy:
          'Set DATABASE_DIRECT_URL to the address of the server without the pooler. It is used for this, and for changes of the schema.',
      }
    : {
        code: 'DATABASE_UNREACHABLE',
        message: `The database failed while the application started: ${cause.message}`,
        remedy: 'Check that the server is up and not overloaded, and start again.',
      }
  return new DeclarationError([problem], { cause: error })
}

/**
 * Milliseconds between two checks. A check without a response until the next one means that the database is
 * unresponsive.
 */
const checkInterval = 5000
/** Maximum milliseconds for closing everything that a failed start has opened. */
const closeTimeout = 2000

/**
 * Runs a part of the start, however long it takes, as long as the database responds. Embedded databases are not
 * checked, because a check would wait for the start's own transaction.
 *
 * @throws {DeclarationError} `DATABASE_UNREACHABLE`
 */
export function whileResponsive<T>(
  database: Database | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (database === undefined || !database.context.dialect.can.outages) return work()
  return new Promise<T>((resolve, reject) => {
    let isChecking = false
    const check = (): void => {
      isChecking = true
      // If no connection is free, the check fails, which counts as no response.
      database.check().then(
        () => {
          isChecking = false
        },
        () => undefined,
      )
    }
    const timer = setInterval(() => {
      if (!isChecking) check()
      // Decide after pending events: the start itself may have kept the process busy.
      else
        setImmediate(() => {
          if (isChecking) reject(unresponsiveError())
        })
    }, checkInterval)
    work()
      .then(resolve, reject)
      .finally(() => {
        clearInterval(timer)
      })
      .catch(() => undefined)
  })
}

/** Closes what a failed start has opened. An unresponsive connection is closed by the end of the process. */
export async function closeInTime(close: () => Promise<void>): Promise<void> {
  const ended = new AbortController()
  await Promise.race([close(), wait(closeTimeout, undefined, { ref: false, signal: ended.signal })])
  ended.abort()
}

function unresponsiveError(): DeclarationError {
  return new DeclarationError([
    {
      code: 'DATABASE_UNREACHABLE',
      message: `The database stopped responding while the application started: its connection is open, and it sent nothing for ${checkInterval / 1000} s.`,
      remedy: 'Check that the server is up and not overloaded, and start again.',
    },
  ])
}
