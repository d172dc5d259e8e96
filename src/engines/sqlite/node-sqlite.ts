/** The driver `node:sqlite`, part of Node from 22.16 and of Deno. Source: Node.js, SQLite. */
import type { Row } from '../contract/runner.js'
import type { DriverStatement, SqliteConnection, SqliteDriver } from './driver.js'

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
export function loadNodeSqlite(): SqliteDriver {
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

/** Suppresses the warning of Node 22 that the module is experimental. It is tested with every supported version of Node. */
function loadWithoutWarning(): NodeSqlite | undefined {
  const emitWarning = Reflect.get(process, 'emitWarning') as (...args: readonly unknown[]) => void
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

function wrapNodeSqlite(database: NodeSqliteDatabase): SqliteConnection {
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
