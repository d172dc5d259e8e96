/**
 * The public type of `Database`, with only the members that applications use. The members for repositories, `crud` and
 * GraphQL are left out.
 */
import { connect as open } from './connect.js'
import { Database as OpenDatabase } from './database.js'
import type { DatabaseOptions } from './database-options.js'

/**
 * Creates repositories: `records(Product)`. Every application with records provides it. Without an application, use
 * `connect`.
 */
export type Database = Pick<OpenDatabase, PublicMember>

type PublicMember =
  | 'records'
  | 'recordsFor'
  | 'transaction'
  | 'openTransaction'
  | 'beforeCommit'
  | 'kysely'
  | 'sync'
  | 'verify'
  | 'differences'
  | 'maintainPartitions'
  | 'ensureTable'
  | 'prepare'
  | 'heartbeat'
  | 'signal'
  | 'onSignal'
  | 'onChange'
  | 'changes'
  | 'check'
  | 'now'
  | 'timeouts'
  | 'pool'
  | 'engineName'
  | 'driverName'
  | 'log'
  | 'close'
  | typeof Symbol.asyncDispose

/** The token for injection into constructors. `connect` creates instances. */
export const Database = OpenDatabase as unknown as abstract new (...never: never[]) => Database

/**
 * Opens a database outside an application. Inside one, inject `Database` into a constructor.
 *
 * @throws {DeclarationError} a malformed address, a missing driver, a refused connection, invalid records
 */
export const connect: {
  (url: string, options?: Omit<DatabaseOptions, 'url'>): Promise<Database>
  (options: DatabaseOptions): Promise<Database>
} = open
