/** How a database finds rows by words in their texts, and which of them fit best. */
import type { Table, TableSearch } from '../model/table.js'
import type { IndexSchema } from '../schema/schema.js'
import type { RawBuilder, Sql } from '../statements/builder.js'

type Fragment = RawBuilder<unknown>

export interface SearchSql {
  /** What it needs in the database, as an index of the table. */
  schema(table: Table, search: TableSearch): IndexSchema
  /** Statements that take away what serves a search of this name. */
  drop(name: string): string[]
  /** The value of its placeholder. There is a word at least; none has anything but letters, digits and marks in it. */
  operand(words: readonly string[]): unknown
  /** All words are in the row. */
  test(parts: SearchParts): Fragment
  /** How rows are found in the order in which they fit. */
  rank(parts: SearchParts): Ranking
}

export interface SearchParts {
  readonly sql: Sql
  readonly table: Table
  readonly search: TableSearch
  /** The table's in the statement. */
  readonly alias: string
  /** The placeholder of the words. */
  readonly value: Fragment
}

export interface Ranking {
  /** What stands before the table behind `from`; the same behind the last table, for rows that are few already. */
  readonly from: Fragment
  readonly behind: Fragment
  /** What stands for the test. */
  readonly test: Fragment
  /** What stands first behind `order by`. */
  readonly by: Fragment
}
