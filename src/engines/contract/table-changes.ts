/** How an engine changes tables, and how the schema after its migrations is found. */
import type { ActualTable } from './catalogue.js'
import type { TableSchema } from './table-schema.js'
import type { Dialect } from './dialect.js'
import type { Runner } from './engine.js'

/** How an existing table is changed: in place, or by a rebuild with all its rows. */
export type TableChanges = EmptiedTables &
  (
    | {
        readonly kind: 'in place'
        changeType(table: string, column: string, type: string, bareType: string): string
        changeNull(table: string, column: string, nullable: boolean): string
      }
    | {
        readonly kind: 'anew'
        /** Statements that keep every row; columns are copied by name. */
        rebuild(schema: TableSchema, actual: ActualTable, dialect: Dialect): string[]
        /** Statements that make the table again as it was, from the one that `schema` describes, and keep every row. */
        restore(actual: ActualTable, schema: TableSchema, dialect: Dialect): string[]
      }
  )

interface EmptiedTables {
  /** Deletes every row of these tables, whatever refers to what; keys count from 1 again. */
  empty(runner: Runner, tables: readonly string[]): Promise<void>
}

export interface Replay {
  /** The address of an empty database that disappears when it is closed. */
  readonly url: string
  /** SQL that creates the tables that a database has. */
  dump(runner: Runner): Promise<string>
}
