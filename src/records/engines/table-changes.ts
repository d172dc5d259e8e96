/** How an engine's tables are changed, and how it is found out where its migrations lead. */
import type { ActualTable } from '../schema/catalogue.js'
import type { TableSchema } from '../schema/schema.js'
import type { Dialect, Runner } from './engine.js'

/** How a table that is there is changed: in place, or by making it anew with all its rows. */
export type TableChanges =
  | {
      readonly kind: 'in place'
      changeType(table: string, column: string, type: string, bareType: string): string
      changeNull(table: string, column: string, nullable: boolean): string
    }
  | {
      readonly kind: 'anew'
      /** Statements that keep every row, column by column of the same name. */
      rebuild(schema: TableSchema, actual: ActualTable, dialect: Dialect): string[]
    }

export interface Replay {
  /** The address of an empty database that is gone when it is closed. */
  readonly url: string
  /** SQL that makes the tables of a database as they are. */
  dump(runner: Runner): Promise<string>
}
