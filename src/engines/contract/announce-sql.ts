/** SQL by which a database tells the processes of an application about the writes of other programs. */
import type { Column } from './table.js'

/** A table whose writes by other programs are announced. */
export interface AnnouncedTable {
  /** The name of the table. */
  readonly name: string
  /** The key of its rows. Undefined if messages do not name the rows: then they say that some were written. */
  readonly key: Column | undefined
  /** The column that marks deleted rows. */
  readonly deletedAt: Column | undefined
  /** The tables that a write changes for readers: the table itself, or both ends of a join table. */
  readonly changes: readonly string[]
  /** Whether servers that distribute tables distribute this one. They may allow no triggers on it. */
  readonly isDistributed: boolean
}

/** `impossible`: the server allows no triggers on the table. */
export type AnnouncedState = 'announced' | 'outdated' | 'not announced' | 'impossible'

export interface AnnounceSql {
  /** A script that makes the triggers of these tables, or makes them anew. */
  install(tables: readonly AnnouncedTable[]): string
  /** A script that removes them, and their function after the last ones. */
  remove(tables: readonly AnnouncedTable[]): string
  /** The statement by which a program announces its writes to a table without triggers, in the same transaction. */
  message(table: AnnouncedTable): string
  /** A query for the triggers of the database: the name of the table, of the trigger, and its arguments. */
  readonly triggers: string
  /** @param triggers the arguments of the table's triggers by their names */
  stateOf(table: AnnouncedTable, triggers: ReadonlyMap<string, string>): AnnouncedState
}
