/** The driver `bun:sqlite`, part of Bun. Source: Bun, SQLite. */
import type { Row } from '../contract/runner.js'
import type { DriverStatement, SqliteConnection, SqliteDriver } from './driver.js'

/** The part of the module that is used. */
interface BunSqlite {
  Database: {
    new (file: string, options: object): BunSqliteDatabase
    prototype: object
  }
}
interface BunSqliteDatabase {
  readonly inTransaction: boolean
  prepare(sql: string): BunSqliteStatement
  exec(sql: string): unknown
  function(name: string, options: object, run: (value: unknown) => unknown): void
  close(): void
}
interface BunSqliteStatement {
  readonly columnNames: readonly string[]
  values(...values: readonly unknown[]): Row[]
  run(...values: readonly unknown[]): { readonly changes: number }
}

/** @throws {Error} the runtime is not Bun, or its SQLite does not support custom functions */
export async function loadBunSqlite(): Promise<SqliteDriver> {
  if (process.versions.bun === undefined) throw new Error('bun:sqlite is part of Bun.')
  // A variable, because bundlers for other runtimes do not know the module.
  const name = 'bun:sqlite'
  const { Database } = (await import(name)) as BunSqlite
  if (!('function' in Database.prototype)) throw new Error('bun:sqlite of this Bun is too old.')
  return {
    name: 'bun:sqlite',
    open: (file, { timeout, readonly }) => {
      const database = new Database(file, readonly ? { readonly } : { create: true })
      database.exec(`pragma busy_timeout = ${timeout}`)
      return wrapBunSqlite(database)
    },
  }
}

function wrapBunSqlite(database: BunSqliteDatabase): SqliteConnection {
  return {
    get inTransaction() {
      return database.inTransaction
    },
    prepare: (sql) => new BunStatement(database.prepare(sql)),
    exec: (sql) => database.exec(sql),
    define: (name, run) => {
      database.function(name, { deterministic: true }, run)
    },
    close: () => {
      database.close()
    },
  }
}

class BunStatement implements DriverStatement {
  readonly reader: boolean
  readonly #statement: BunSqliteStatement

  constructor(statement: BunSqliteStatement) {
    this.#statement = statement
    this.reader = statement.columnNames.length > 0
  }

  columns(): readonly { readonly name: string }[] {
    return this.#statement.columnNames.map((name) => ({ name }))
  }

  all(values: readonly unknown[]): Row[] {
    checkIntegers(values)
    return this.#statement.values(...values)
  }

  get(values: readonly unknown[]): Row | undefined {
    return this.all(values)[0]
  }

  run(values: readonly unknown[]): { changes: number } {
    checkIntegers(values)
    return this.#statement.run(...values)
  }
}

/** Bun would bind only the lower 64 bits of larger values. */
function checkIntegers(values: readonly unknown[]): void {
  for (const value of values) {
    if (typeof value === 'bigint' && BigInt.asIntN(64, value) !== value) {
      throw new RangeError('An integer has more than 64 bits.')
    }
  }
}
