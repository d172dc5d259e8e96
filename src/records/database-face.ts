/** The database as applications see it: what repositories, `crud` and GraphQL are made of stays inside. */
import { connect as open, Database as OpenDatabase } from './database.js'
import type { DatabaseOptions } from './database-options.js'

/** The tables of records, by `records(Product)`. A provider of every application with records; `connect` opens one without. */
export type Database = Pick<OpenDatabase, Shown>

type Shown =
  | 'records'
  | 'recordsFor'
  | 'transaction'
  | 'kysely'
  | 'sync'
  | 'verify'
  | 'differences'
  | 'ensureTable'
  | 'onChange'
  | 'check'
  | 'pool'
  | 'engineName'
  | 'driverName'
  | 'log'
  | 'close'
  | typeof Symbol.asyncDispose

/** What constructors ask for by it; `connect` makes them. */
export const Database = OpenDatabase as unknown as abstract new (...never: never[]) => Database

/**
 * Opens a database outside an application; inside, ask for `Database` in a constructor.
 *
 * @throws {DeclarationError} an address that says nothing, no driver, no access, faulty records
 */
export const connect: {
  (url: string, options?: Omit<DatabaseOptions, 'url'>): Promise<Database>
  (options: DatabaseOptions): Promise<Database>
} = open
