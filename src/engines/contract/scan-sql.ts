/** How an engine tells which tables a statement would read as a whole. */
import type { Engine, Row } from './engine.js'

export interface ScanSql {
  /** The plan of a statement, for unknown values. */
  explain(engine: Engine, sql: string): Promise<readonly Row[]>
  /** The tables, or their aliases, that a plan reads as a whole to filter or sort them. */
  read(rows: readonly Row[]): readonly string[]
  /** A query for the statements that the server knows, if it keeps them. */
  readonly statistics?: string
}
