/** The SQL of a full-text search. */
import type { IndexSchema } from './table-schema.js'
import type { Sql } from './sql-text.js'
import type { KeyedTable, TableSearch } from './table.js'

export interface SearchSql {
  /** The index or tables that it needs, in the form of a table's index. */
  schema(table: KeyedTable, search: TableSearch): IndexSchema
  /** Statements that drop the search index of a table with this name. */
  drop(name: string, table: string): string[]
  /** The value of the placeholder. `terms` is not empty. Terms contain only letters, digits and marks. */
  operand(terms: readonly string[]): unknown
  /** The condition that a row contains all words. */
  test(parts: SearchParts): Sql
  /** Selects the keys of the rows that contain all words. `undefined` if `test` needs no list of them. */
  readonly keys?: (parts: SearchParts) => Sql
  /** The condition as it is tested for single rows. `undefined` if it is `test`. */
  readonly testOne?: (parts: SearchParts) => Sql
  /**
   * The SQL that orders rows by rank.
   *
   * @param best set if all matches are rows of the result, so that only the best ones need to be read
   */
  rank(parts: SearchParts, best?: BestMatches): Ranking
  /** The SQL that ranks a limited number of matches, the best with the lowest number. */
  some(parts: SearchParts): RankedRows
  /** Whether `rank` uses `best` for this table. */
  readonly readsBest?: (table: KeyedTable) => boolean
}

/** The matches that a page needs, ordered by rank and then by key. */
export interface BestMatches {
  /** Their number: limit and offset of the page. */
  readonly count: Sql
  /** The maximum number of matches that are ranked. Default: all. */
  readonly maxRanked?: number | undefined
}

/** Matching rows with their ranks, which are limited before they are sorted. */
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
  /** The placeholder of the terms. */
  readonly value: Sql
}

export interface Ranking {
  /** SQL before the first table in `from`, or `fromAfter` after the last table if few rows are left. */
  readonly from?: Sql
  readonly fromAfter?: Sql
  /** The SQL that replaces the condition. */
  readonly test: Sql
  /** The first expression of `order by`. */
  readonly by: Sql
}
