/**
 * The database in the application: opened before any provider is made, its schema is updated to the records or, in
 * production, compared with them; sessions and revocations are stored in it.
 */
import { createMemoryStore } from '../sessions/memory-store.js'
import type { SessionStore } from '../sessions/session-store.js'
import type { Revocations } from '../auth/revocations.js'
import type { Log } from '../core/log.js'
import type { Class } from '../metadata/note.js'
import { createDatabase, Database } from '../records/database.js'
import type { DatabaseOptions } from '../records/database-options.js'
import type { Database as DatabaseFace } from '../records/database-face.js'
import { splitAddresses } from '../records/engines/engine-for-url.js'
import type { EngineSource } from '../records/engines/engine.js'
import { createDatabaseRevocations } from '../records/revocations.js'
import { createDatabaseSessionStore } from '../records/session-store.js'
import { readScans } from '../records/scans/kept-scans.js'
import { ScanLog } from '../records/scans/scan-log.js'

export interface Storage {
  /** `undefined` in an application that has no use for one. */
  readonly database: Database | undefined
  readonly sessions: SessionStore
  /** `undefined`: in memory. */
  readonly revocations: Revocations | undefined
  /** Closes the database that was opened here; one that the application brought stays open. */
  close(): Promise<void>
}

/** What an application may say of its database. */
export type DatabaseChoice =
  string | DatabaseFace | EngineSource | { readonly engine: EngineSource }

/** What is not open yet. */
export type ClosedChoice = Exclude<DatabaseChoice, DatabaseFace>

/** Of a database that is not open yet. */
export function toDatabaseOptions(
  choice: ClosedChoice | undefined,
): Pick<DatabaseOptions, 'url' | 'engine'> {
  if (choice === undefined) return {}
  if (typeof choice === 'string') return { url: choice }
  return { engine: 'engine' in choice ? choice.engine : choice }
}

export interface StorageOptions {
  /** A URL, an engine, a database that is open already, or nothing: then `DATABASE_URL`, else the embedded file. */
  readonly database: DatabaseChoice | undefined
  /** `DATABASE_DIRECT_URL`, where set. */
  readonly direct: string | undefined
  /** `DATABASE_REPLICAS`, where set. */
  readonly replicas: string | undefined
  readonly records: readonly Class[]
  /** A provider or handler needs the database though there are no records. */
  readonly needed: boolean
  /** The schema is only looked at. */
  readonly production: boolean
  /** Sessions kept elsewhere. */
  readonly sessions: SessionStore | undefined
  /** Milliseconds after which a server ends a statement. */
  readonly statementTimeout: number
  readonly log: Log
}

const readOnly =
  'the database is a replica or read-only: reads are answered, writes are 503, and its schema is left as it is'

/** @throws {DeclarationError} no driver, no access, faulty records, in production a schema that differs */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { database: given, direct, replicas, records, log, statementTimeout } = options
  const wanted = given !== undefined || records.length > 0 || options.needed
  if (!wanted) {
    return {
      database: undefined,
      sessions: options.sessions ?? createMemoryStore(),
      revocations: undefined,
      close: () => Promise.resolve(),
    }
  }
  const isOwn = !(given instanceof Database)
  const database = isOwn
    ? await createDatabase({
        direct,
        replicas: replicas === undefined ? undefined : splitAddresses(replicas),
        records,
        log,
        statementTimeout,
        ...toDatabaseOptions(given as ClosedChoice),
      })
    : given
  let scans: ScanLog | undefined
  const close = async (): Promise<void> => {
    await scans?.close()
    if (isOwn) await database.close()
  }
  try {
    for (const record of records) database.table(record)
    const { isReadOnly } = database.context.engine
    if (isReadOnly === true) log.warn({}, readOnly)
    await (options.production || isReadOnly ? database.verify() : database.sync())
    if (isOwn && !options.production && isReadOnly !== true) {
      for (const advice of await readScans(database)) log.warn({}, `A query scanned. ${advice}`)
      scans = new ScanLog(database)
    }
    return {
      database,
      sessions: options.sessions ?? (await createDatabaseSessionStore(database)),
      revocations: await createDatabaseRevocations(database),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
