/** The interface of SQLite drivers. Each driver has one file; `choose-driver.ts` selects one. */
import type { Row } from '../contract/engine.js'

export interface Driver {
  /** The name in `?driver=`. */
  readonly name: DriverName
  open(file: string, options: OpenOptions): DriverDatabase
}

export type DriverName = 'node:sqlite' | 'better-sqlite3' | 'bun:sqlite'

export interface OpenOptions {
  /** Milliseconds that a statement waits for another connection's lock; the whole process is blocked meanwhile. */
  readonly timeout: number
  readonly readonly: boolean
}

export interface DriverDatabase {
  readonly inTransaction: boolean
  /** @param writes whether it may change something, so that it must not run a second time */
  prepare(sql: string, writes: boolean): DriverStatement
  exec(sql: string): unknown
  /** Defines an SQL function with one argument, which always returns the same value for it. */
  define(name: string, run: (value: unknown) => unknown): void
  close(): void
}

/**
 * A prepared statement; rows are lists of values. The interface fits better-sqlite3's own statements, so that they need
 * no wrapper.
 */
export interface DriverStatement {
  /** It returns rows. */
  readonly reader: boolean
  columns(): readonly { readonly name: string }[]
  all(values: readonly unknown[]): Row[]
  get(values: readonly unknown[]): Row | undefined
  run(values: readonly unknown[]): { readonly changes: number }
}
