/** How a database searches texts by words and ranks the rows. */
import type { KeyedTable, TableSearch } from './table.js'
import type { IndexSchema } from './table-schema.js'
import type { Sql } from './sql-text.js'

export interface SearchSql {
  /** The index or tables that it needs, in the form of a table's index. */
  schema(table: KeyedTable, search: TableSearch): IndexSchema
  /** Statements that drop a search index with this name. */
  drop(name: string): string[]
  /** The value of the placeholder. There is at least one word; words contain only letters, digits and marks. */
  operand(words: readonly string[]): unknown
  /** The condition that a row contains all words. */
  test(parts: SearchParts): Sql
  /** How rows are ordered by rank. */
  rank(parts: SearchParts): Ranking
  /** How some of the rows that are found are ranked, the best with the lowest number. */
  some(parts: SearchParts): RankedRows
}

/** Rows that contain the words, and their ranks, to be limited before anything is sorted. */
export interface RankedRows {
  /** SQL before the table in `from`. */
  readonly from?: Sql
  /** The SQL that replaces the condition. */
  readonly test: Sql
  readonly rank: Sql
}

export interface SearchParts {
  readonly table: KeyedTable
  readonly search: TableSearch
  /** The table's alias in the statement. */
  readonly alias: string
  /** The placeholder of the words. */
  readonly value: Sql
}

export interface Ranking {
  /** SQL before the table in `from`, or after the last table if only few rows are left. */
  readonly from?: Sql
  readonly behind?: Sql
  /** The SQL that replaces the condition. */
  readonly test: Sql
  /** The first expression of `order by`. */
  readonly by: Sql
}
