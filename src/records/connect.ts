/** Opens a database. */
import { LentLog } from '../core/log.js'
import { frameworkQuery } from '../engines/contract/statement.js'
import { defaultUrl, openEngine } from '../engines/engine-for-url.js'
import { Problems } from '../errors/problems.js'
import { DatabaseClock } from './database-clock.js'
import { databaseOptions, type DatabaseOptions } from './database-options.js'
import { Database } from './database.js'
import { readTables } from './model/read-table.js'
import { publishStatements, StatementPublisher } from './statement-tracking.js'
import { createBuilder } from './statements/builder.js'

/**
 * Opens a database outside an application. Inside one, inject `Database` into a constructor.
 *
 * @throws {DeclarationError} a malformed address, a missing driver, a refused connection, invalid records
 */
export function connect(url: string, options?: Omit<DatabaseOptions, 'url'>): Promise<Database>
export function connect(options: DatabaseOptions): Promise<Database>
export function connect(
  where: string | DatabaseOptions,
  options: DatabaseOptions = {},
): Promise<Database> {
  return createDatabase(typeof where === 'string' ? { ...options, url: where } : where)
}

/** @throws {DeclarationError} as `connect` does */
export async function createDatabase(options: DatabaseOptions = {}): Promise<Database> {
  const { url = defaultUrl, direct, records = [], log = new LentLog(), now = Date.now } = options
  const { statementTimeout, replicas, replicaLag, searchLimit } = options
  const problems = new Problems()
  problems.addAll(databaseOptions.findProblems(options, 'connect'))
  const tables = readTables(records, problems)
  problems.throwIfAny()
  const opening = { log, direct, replicas, replicaLag, statementTimeout }
  const opened = await (options.engine?.open(opening) ?? openEngine(url, opening))
  const publisher = new StatementPublisher(opened.dialect)
  const engine = publishStatements(opened, publisher)
  const readClock = frameworkQuery(`select ${opened.dialect.time.clock}`, { isFresh: true })
  const clock = new DatabaseClock(() => opened.run(readClock, [], 'first'))
  const holder = {} as { database: Database }
  const kysely = await createBuilder(engine, {
    tables: () => holder.database.tables,
    runner: () => holder.database.runner(),
    begin: (isolation) => holder.database.begin(isolation),
    wrote: (statement, result) => {
      holder.database.wrote(statement, result)
    },
  })
  const database = new Database({ engine, kysely, log, now, searchLimit, clock })
  holder.database = database
  publisher.database = database
  for (const table of tables) database.tables.add(table)
  await clock.read()
  return database
}
