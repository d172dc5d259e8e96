/**
 * The public type of `Database`: only what applications use. The parts for repositories, `crud` and GraphQL are not in
 * it.
 */
import { connect as open, Database as OpenDatabase } from './database.js'
import type { DatabaseOptions } from './database-options.js'

/**
 * Gives repositories: `records(Product)`. Every application with records provides it; `connect` opens one without an
 * application.
 */
export type Database = Pick<OpenDatabase, Shown>

type Shown =
  | 'records'
  | 'recordsFor'
  | 'transaction'
  | 'openTransaction'
  | 'beforeCommit'
  | 'kysely'
  | 'sync'
  | 'verify'
  | 'differences'
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

/** The token that constructors ask for; `connect` creates instances. */
export const Database = OpenDatabase as unknown as abstract new (...never: never[]) => Database

/**
 * Opens a database outside an application; inside, ask for `Database` in a constructor.
 *
 * @throws {DeclarationError} a malformed address, a missing driver, a refused connection, faulty records
 */
export const connect: {
  (url: string, options?: Omit<DatabaseOptions, 'url'>): Promise<Database>
  (options: DatabaseOptions): Promise<Database>
} = open
