/** A table as it should be, in a form that SQL can be written from and catalogues compared with. */

export interface TableSchema {
  readonly name: string
  /** Names that it may have had earlier. */
  readonly was?: readonly string[] | undefined
  readonly columns: readonly ColumnSchema[]
  /** Names of the key's columns; one, or two for join tables and sharded tables. */
  readonly primaryKey: readonly string[]
  readonly isSharded?: boolean
  readonly foreignKeys: readonly ForeignKeySchema[]
  /** Checks that belong to no column of `columns`: those of a table as it was. */
  readonly checks?: readonly CheckSchema[]
  readonly indexes: readonly IndexSchema[]
}

export interface ColumnSchema {
  readonly name: string
  /** Names that it may have had earlier. */
  readonly was?: readonly string[] | undefined
  /** As written in `create table`: `text collate "C"`. */
  readonly type: string
  readonly nullable: boolean
  /** The database generates its values. */
  readonly increment: boolean
  /** SQL of the value for existing rows when the column is added; `undefined` if the record has none. */
  readonly fill: string | undefined
  /** SQL of the default for rows that other programs write without it. */
  readonly preset?: string | undefined
  readonly check?: CheckSchema | undefined
  /** The field that it comes from, for messages: `Product.price`. */
  readonly origin: string
}

/** A check constraint on a column. */
export interface CheckSchema {
  readonly name: string
  /** `"price" >= 0` */
  readonly sql: string
}

export interface ForeignKeySchema {
  readonly name: string
  readonly column: string
  readonly table: string
  readonly foreignColumn: string
  /** Of tables that are sharded by the same column: it stands before the others, on both sides. */
  readonly shard?: { readonly column: string; readonly foreignColumn: string } | undefined
  /** `restrict`, `cascade`, `set null`, or what another program has chosen. */
  readonly onDelete: string
}

export interface IndexSchema {
  readonly name: string
  readonly columns: readonly string[]
  readonly unique: boolean
  /** Only rows in which this column is null are in the index. */
  readonly whereNull: string | undefined
  /**
   * SQL of each part that is more than a bare column, of the filter, of the method, and the extension that it needs.
   */
  readonly parts?: readonly string[]
  readonly where?: string | undefined
  readonly using?: 'gin'
  readonly extension?: 'pg_trgm'
  /** Columns that its expressions read. */
  readonly over?: readonly string[]
  /** Statements that replace the index on databases without such indexes. `drop` does nothing if it does not exist. */
  readonly made?: { readonly create: readonly string[]; readonly drop: readonly string[] }
}
