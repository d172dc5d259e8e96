/** How an engine tells which tables a statement would read from one end to the other. */
import type { Engine, Row } from './engine.js'

export interface ScanSql {
  /** The rows of the plan of a statement, whatever its values. */
  explain(engine: Engine, sql: string): Promise<readonly Row[]>
  /** The tables, or their aliases, of which a plan reads every row to find some or to sort them. */
  read(rows: readonly Row[]): readonly string[]
  /** Asks the server for the statements that it knows, where it keeps such. */
  readonly statistics?: string
}
