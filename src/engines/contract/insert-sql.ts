/** How an engine writes many rows at once. */

/** SQL before and after a column. */
export type Around = readonly [before: string, behind: string]

/** How one statement inserts many rows: a list of values for each column. */
export interface InsertLists {
  /** A query for the names and types of a table's columns; its parameter is the table's quoted name. */
  readonly types: string
  /** SQL around the lists that turns them into rows. */
  readonly rows: Around
  /** SQL behind a select whose rows are changed, their keys not: it holds them. */
  readonly held: string
  /** SQL around the placeholder of a list. */
  list(type: string): Around
  /** The list of the values at one place of all rows. */
  write(rows: readonly (readonly unknown[])[], place: number): unknown
}

/** The database's own command for many rows, which returns none of them. */
export interface InsertCopy {
  /** A query that returns whether a table accepts it: one boolean. Its parameter is the table's quoted name. */
  readonly isAllowed: string
  /** @param columns quoted, as the table is */
  into(table: string, columns: readonly string[]): string
  /** The rows' values in the order of the columns. */
  write(rows: readonly (readonly unknown[])[]): unknown
}
