/**
 * The SQLite drivers `node:sqlite`, `bun:sqlite` and `better-sqlite3` behind one interface, and the selection of one at
 * startup: the driver of the runtime, otherwise the package better-sqlite3.
 */

import { createRequire } from 'node:module'
import type { Row } from '../contract/engine.js'
import { DeclarationError } from '../../errors/declaration-error.js'
import { didYouMean } from '../../errors/did-you-mean.js'

export interface Driver {
  /** The name in `?driver=`. */
  readonly name: DriverName
  open(file: string, options: OpenOptions): DriverDatabase
}

export type DriverName = 'node:sqlite' | 'better-sqlite3' | 'bun:sqlite'

export interface OpenOptions {
  /** Milliseconds that a statement waits for another connection's lock. It blocks the process meanwhile. */
  readonly timeout: number
  readonly readonly: boolean
}

export interface DriverDatabase {
  readonly inTransaction: boolean
  /** @param writes the statement may write, so it must not be run again after an error */
  prepare(sql: string, writes: boolean): DriverStatement
  exec(sql: string): unknown
  /** Defines a deterministic SQL function with one argument. */
  define(name: string, run: (value: unknown) => unknown): void
  close(): void
}

/** A prepared statement. Rows are arrays of values. Statements of better-sqlite3 have this interface already. */
export interface DriverStatement {
  /** Whether the statement returns rows. */
  readonly reader: boolean
  columns(): readonly { readonly name: string }[]
  all(values: readonly unknown[]): Row[]
  get(values: readonly unknown[]): Row | undefined
  run(values: readonly unknown[]): { readonly changes: number }
}

const drivers: Readonly<Record<DriverName, () => Driver | Promise<Driver>>> = {
  'bun:sqlite': loadBunSqlite,
  'node:sqlite': loadNodeSqlite,
  'better-sqlite3': loadBetterSqlite,
}

/** In the order in which they are tried if the database URL names none. */
export const driverNames = Object.keys(drivers) as readonly DriverName[]

/**
 * @param requested the only allowed driver, from `?driver=` in the database URL. Default: the first one that can be
 * loaded
 * @throws {DeclarationError} the driver is unknown, or it cannot be loaded
 */
export async function chooseDriver(requested?: string): Promise<Driver> {
  if (requested !== undefined && !isDriverName(requested)) throw unknownDriver(requested)
  const causes: unknown[] = []
  for (const name of requested === undefined ? driverNames : [requested]) {
    try {
      return await drivers[name]()
    } catch (cause) {
      causes.push(cause)
    }
  }
  throw missingDriver(requested, causes.at(-1))
}

function isDriverName(name: string): name is DriverName {
  return Object.hasOwn(drivers, name)
}

function unknownDriver(requested: string): DeclarationError {
  const fix = `${didYouMean(requested, driverNames)} Write one of: ${driverNames.join(', ')}.`
  return new DeclarationError([
    {
      code: 'DATABASE_URL',
      message: `The database's parameter driver is "${requested}", which is not a driver of SQLite.`,
      remedy: fix.trim(),
    },
  ])
}

function missingDriver(requested: DriverName | undefined, cause: unknown): DeclarationError {
  const { message } = (cause ?? {}) as { message?: unknown }
  const reason = typeof message === 'string' ? message : String(cause)
  const subject =
    requested === undefined
      ? 'The embedded database needs a SQLite driver and found none'
      : `The driver ${requested}, which the database URL requests, cannot be loaded`
  const error = new DeclarationError([
    {
      code: 'DATABASE_DRIVER_MISSING',
      message: `${subject}: ${reason.split('\n')[0]?.replace(/\.$/, '') ?? ''}.`,
      remedy: fixFor(requested, reason),
    },
  ])
  error.cause = cause
  return error
}

function fixFor(requested: DriverName | undefined, reason: string): string {
  const { bun, deno, node } = process.versions as Partial<Record<string, string>>
  if (bun !== undefined) return 'Leave out driver=, or update Bun: bun upgrade'
  if (deno !== undefined) return 'Leave out driver=, or update Deno: deno upgrade'
  if (requested === 'bun:sqlite') return 'Leave out driver=, or run the application with Bun.'
  if (requested === 'node:sqlite') return 'Leave out driver=, or use Node 22.16 or newer.'
  // The right version is installed, but it was compiled for another Node.
  if (/bindings file|NODE_MODULE_VERSION/.test(reason)) return 'Run: npm rebuild better-sqlite3'
  return `Run: npm install better-sqlite3@${supportedMajor(Number(node?.split('.')[0]))}`
}

/** The driver `node:sqlite`, part of Node from 22.16 and of Deno. Source: Node.js, SQLite. */

/** The part of the module that is used. The types for Node 20 lack it. */
interface NodeSqlite {
  DatabaseSync: new (
    file: string,
    options: { timeout: number; readOnly: boolean },
  ) => NodeSqliteDatabase
  StatementSync: { prototype: object }
}
interface NodeSqliteDatabase {
  readonly isTransaction: boolean
  prepare(sql: string): NodeSqliteStatement
  exec(sql: string): void
  function(name: string, options: object, run: (value: unknown) => unknown): void
  close(): void
}
interface NodeSqliteStatement {
  columns(): readonly { readonly name: string }[]
  setReturnArrays(arrays: boolean): void
  setReadBigInts(bigInts: boolean): void
  all(...values: readonly unknown[]): Row[]
  get(...values: readonly unknown[]): Row | undefined
  run(...values: readonly unknown[]): { readonly changes: number | bigint }
}

/** @throws {Error} the runtime has no `node:sqlite`, or one that cannot return rows as lists */
function loadNodeSqlite(): Driver {
  const module = loadWithoutWarning()
  if (module === undefined) throw new Error('This runtime has no node:sqlite.')
  const { DatabaseSync, StatementSync } = module
  if (!('setReturnArrays' in StatementSync.prototype)) {
    throw new Error('node:sqlite of this runtime is too old.')
  }
  return {
    name: 'node:sqlite',
    open: (file, { timeout, readonly }) =>
      wrapNodeSqlite(new DatabaseSync(file, { timeout, readOnly: readonly })),
  }
}

type Warn = (...args: readonly unknown[]) => void

/** Suppresses the warning of Node 22 that the module is experimental. It is tested with every supported version of Node. */
function loadWithoutWarning(): NodeSqlite | undefined {
  const emitWarning = Reflect.get(process, 'emitWarning') as Warn
  process.emitWarning = (warning: unknown, ...rest: unknown[]): void => {
    if (String(warning).startsWith('SQLite is an experimental feature')) return
    Reflect.apply(emitWarning, process, [warning, ...rest])
  }
  try {
    // Not an import, because bundlers do not know the module. Node 20 before 20.16 lacks the function.
    const { getBuiltinModule } = process as { getBuiltinModule?: (name: string) => unknown }
    return getBuiltinModule?.('node:sqlite') as NodeSqlite | undefined
  } finally {
    process.emitWarning = emitWarning
  }
}

function wrapNodeSqlite(database: NodeSqliteDatabase): DriverDatabase {
  return {
    get inTransaction() {
      return database.isTransaction
    },
    prepare: (sql, writes) => new NodeStatement(database.prepare(sql), writes),
    exec: (sql) => {
      database.exec(sql)
    },
    define: (name, run) => {
      database.function(name, { deterministic: true }, run)
    },
    close: () => {
      database.close()
    },
  }
}

class NodeStatement implements DriverStatement {
  readonly reader: boolean
  readonly #statement: NodeSqliteStatement
  readonly #writes: boolean

  constructor(statement: NodeSqliteStatement, writes: boolean) {
    this.#statement = statement
    this.#writes = writes
    this.reader = statement.columns().length > 0
    if (this.reader) statement.setReturnArrays(true)
  }

  columns(): readonly { readonly name: string }[] {
    return this.#statement.columns()
  }

  all(values: readonly unknown[]): Row[] {
    try {
      return this.#statement.all(...values)
    } catch (error) {
      return this.#readLarge(error, () => this.#statement.all(...values).map(toNumbers))
    }
  }

  get(values: readonly unknown[]): Row | undefined {
    try {
      return this.#statement.get(...values)
    } catch (error) {
      return this.#readLarge(error, () => {
        const row = this.#statement.get(...values)
        return row === undefined ? undefined : toNumbers(row)
      })
    }
  }

  run(values: readonly unknown[]): { changes: number } {
    return { changes: Number(this.#statement.run(...values).changes) }
  }

  /** This driver rejects integers beyond 53 bits. They are read as numbers that lose digits, as in other drivers. */
  #readLarge<T>(error: unknown, retry: () => T): T {
    if ((error as { code?: unknown }).code !== 'ERR_OUT_OF_RANGE' || this.#writes) throw error
    this.#statement.setReadBigInts(true)
    try {
      return retry()
    } finally {
      this.#statement.setReadBigInts(false)
    }
  }
}

function toNumbers(row: Row): Row {
  return row.map((value) => (typeof value === 'bigint' ? Number(value) : value))
}

/** The driver `bun:sqlite`, part of Bun. Source: Bun, SQLite. */

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
async function loadBunSqlite(): Promise<Driver> {
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

function wrapBunSqlite(database: BunSqliteDatabase): DriverDatabase {
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
    rejectLargeIntegers(values)
    return this.#statement.values(...values)
  }

  get(values: readonly unknown[]): Row | undefined {
    return this.all(values)[0]
  }

  run(values: readonly unknown[]): { changes: number } {
    rejectLargeIntegers(values)
    return this.#statement.run(...values)
  }
}

/** Bun would bind only the lower 64 bits of larger values. */
function rejectLargeIntegers(values: readonly unknown[]): void {
  for (const value of values) {
    if (typeof value === 'bigint' && BigInt.asIntN(64, value) !== value) {
      throw new RangeError('An integer has more than 64 bits.')
    }
  }
}

/** The driver better-sqlite3, if it is installed. Source: better-sqlite3, API. */

/** The part of the package that is used. */
interface BetterSqlite {
  new (file: string, options: OpenOptions): BetterSqliteDatabase
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
function supportedMajor(nodeMajor: number): 12 | 13 {
  return nodeMajor < 22 ? 12 : 13
}

/**
 * @throws {Error} the package is missing, its version would crash this process, or its binary cannot be loaded
 */
async function loadBetterSqlite(): Promise<Driver> {
  // A variable, so that the code compiles without the package.
  const name = 'better-sqlite3'
  rejectCrashingVersion(name)
  const { default: Database } = (await import(name)) as { default: BetterSqlite }
  // The package loads its binary only when a database is opened.
  new Database(':memory:', { timeout: 0, readonly: false }).close()
  return {
    name: 'better-sqlite3',
    open: (file, options) => wrapBetterSqlite(new Database(file, options)),
  }
}

function wrapBetterSqlite(database: BetterSqliteDatabase): DriverDatabase {
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
function rejectCrashingVersion(name: string): void {
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
