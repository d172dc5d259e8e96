/** What an engine says of writing many rows at once. */

/** SQL before and behind a column. */
export type Around = readonly [before: string, behind: string]

/** How many rows are inserted by one statement: a list of values for each column. */
export interface InsertLists {
  /** A query for the names and types of a table's columns; its value is the table's quoted name. */
  readonly types: string
  /** SQL around the lists that makes rows of them. */
  readonly rows: Around
  /** SQL behind a select whose rows are changed, their keys not: it holds them. */
  readonly held: string
  /** SQL around the placeholder of a list. */
  list(type: string): Around
  /** The list of what stands at a place of each row. */
  write(rows: readonly (readonly unknown[])[], place: number): unknown
}

/** The database's own way to take many rows, which answers none of them. */
export interface InsertCopy {
  /** A query for whether a table takes rows so: one boolean. Its value is the table's quoted name. */
  readonly isAllowed: string
  /** @param columns quoted as the table is */
  into(table: string, columns: readonly string[]): string
  /** The rows' values in the order of the columns. */
  write(rows: readonly (readonly unknown[])[]): unknown
}
