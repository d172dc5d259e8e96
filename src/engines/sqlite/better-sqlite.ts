/** The driver better-sqlite3, if it is installed. Source: better-sqlite3, API. */
import { createRequire } from 'node:module'
import type {
  DriverStatement,
  SqliteConnection,
  SqliteDriver,
  SqliteOpenOptions,
} from './driver.js'

/** The part of the package that is used. */
interface BetterSqlite {
  new (file: string, options: SqliteOpenOptions): BetterSqliteDatabase
}
interface BetterSqliteDatabase {
  readonly inTransaction: boolean
  prepare(sql: string): BetterSqliteStatement
  exec(sql: string): unknown
  function(name: string, options: object, run: (value: unknown) => unknown): unknown
  close(): unknown
}
interface BetterSqliteStatement extends DriverStatement {
  raw(): DriverStatement
}

/** The major version that works with a major version of Node: 13 crashes Node 20, and 12 crashes Node 24 within seconds. */
export function supportedMajor(nodeMajor: number): 12 | 13 {
  return nodeMajor < 22 ? 12 : 13
}

/**
 * @throws {Error} the package is missing, its version would crash this process, or its binary cannot be loaded
 */
export async function loadBetterSqlite(): Promise<SqliteDriver> {
  // A variable, so that the code compiles without the package.
  const name = 'better-sqlite3'
  checkVersion(name)
  const { default: Database } = (await import(name)) as { default: BetterSqlite }
  // The package loads its binary only when a database is opened.
  new Database(':memory:', { timeout: 0, readonly: false }).close()
  return {
    name: 'better-sqlite3',
    open: (file, options) => wrapBetterSqlite(new Database(file, options)),
  }
}

function wrapBetterSqlite(database: BetterSqliteDatabase): SqliteConnection {
  return {
    get inTransaction() {
      return database.inTransaction
    },
    prepare: (sql) => {
      const statement = database.prepare(sql)
      return statement.reader ? statement.raw() : statement
    },
    exec: (sql) => database.exec(sql),
    define: (name, run) => {
      database.function(name, { deterministic: true }, run)
    },
    close: () => {
      database.close()
    },
  }
}

/** Checked before the package is loaded, because loading alone may crash the process. */
function checkVersion(name: string): void {
  const node = Number(process.versions.node.split('.')[0])
  const major = Number(readVersion(name).split('.')[0])
  const isCrashing = node < 22 ? major > 12 : node > 23 && major < 13
  if (!isCrashing) return
  throw new Error(`better-sqlite3 ${major} does not run on Node ${node}.`)
}

function readVersion(name: string): string {
  const { version } = createRequire(import.meta.url)(`${name}/package.json`) as { version: string }
  return version
}
