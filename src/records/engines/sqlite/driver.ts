/** What the SQLite engine asks of a driver. One file a driver, behind this; which is taken: `choose-driver.ts`. */
import type { Row } from '../engine.js'

export interface Driver {
  /** As `?driver=` names it. */
  readonly name: DriverName
  open(file: string, options: OpenOptions): DriverDatabase
}

export type DriverName = 'node:sqlite' | 'better-sqlite3' | 'bun:sqlite'

export interface OpenOptions {
  /** Milliseconds that a statement waits for another connection's lock, with everything else in this process. */
  readonly timeout: number
  readonly readonly: boolean
}

export interface DriverDatabase {
  readonly inTransaction: boolean
  /** @param writes it may change something, and so cannot be run a second time for the same answer */
  prepare(sql: string, writes: boolean): DriverStatement
  exec(sql: string): unknown
  /** A function of one argument for SQL, which answers the same to the same. */
  define(name: string, run: (value: unknown) => unknown): void
  close(): void
}

/** Rows are lists of values; better-sqlite3's own statement is one, so that nothing stands between. */
export interface DriverStatement {
  /** It answers rows. */
  readonly reader: boolean
  columns(): readonly { readonly name: string }[]
  all(values: readonly unknown[]): Row[]
  get(values: readonly unknown[]): Row | undefined
  run(values: readonly unknown[]): { readonly changes: number }
}
