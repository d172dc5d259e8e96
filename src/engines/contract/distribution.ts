/** SQL for servers that spread the rows of a table over machines. It does nothing on other servers of the same engine. */
import type { Distribution } from './table-schema.js'

export interface DistributionSql {
  /** One statement that runs these in order, and that does nothing on servers that distribute no tables. */
  readonly onlyDistributed: (statements: readonly string[]) => string
  /** The statements for `onlyDistributed` that move the rows of a table. */
  readonly move: (move: TableMove) => string[]
  /** The same as one line for people: `select create_reference_table('region');` */
  readonly command: (move: TableMove) => string
  /** One statement that renames a constraint if it exists, also where the server cannot rename it. */
  readonly renameConstraint: (table: string, from: string, to: string) => string
}

export interface TableMove {
  readonly table: string
  readonly from: Distribution
  readonly to: Distribution
  /** A table of the same group that is distributed already. Undefined: the table is the first one of its group. */
  readonly besides: string | undefined
  /** The column whose values the database counts, if there is one. Then the table cannot become local again. */
  readonly counter?: string | undefined
  /** Whether writes continue while the rows are copied. Then the statement must be a transaction of its own. */
  readonly isOnline: boolean
}
