/** What the SQLite engine needs from a driver. */
import type { Row } from '../contract/runner.js'

export interface SqliteDriver {
  /** The name in `?driver=`. */
  readonly name: DriverName
  open(file: string, options: SqliteOpenOptions): SqliteConnection
}

export type DriverName = 'node:sqlite' | 'better-sqlite3' | 'bun:sqlite'

export interface SqliteOpenOptions {
  /** Milliseconds that a statement waits for another connection's lock. It blocks the process meanwhile. */
  readonly timeout: number
  readonly readonly: boolean
}

export interface SqliteConnection {
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
