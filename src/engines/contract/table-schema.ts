/** The tables that exist in a database. Each engine reads its own catalogue into these types. */
export interface ActualTable {
  readonly name: string
  /** A view, or a foreign table: it has columns, and neither keys nor rules that could be asked or made. */
  readonly isForeign?: boolean
  /** Its rows are in partitions: the key has to contain their columns. */
  readonly isPartitioned?: boolean
  readonly columns: ReadonlyMap<string, ActualColumn>
  readonly indexes: ReadonlyMap<string, ActualIndex>
  readonly foreignKeys: readonly ActualForeignKey[]
  readonly primaryKey?: readonly string[] | undefined
  /** The SQL of its checks, by their names. */
  readonly checks?: ReadonlyMap<string, string>
  /** In the schema after migrations: the migration since which no record declares it. */
  readonly leftBy?: string | undefined
}

export interface ActualColumn {
  readonly name: string
  /** In lower case, without collation: `text`. */
  readonly type: string
  /** As `create table` writes it: `text collate "C"`. Default: the type. */
  readonly sql?: string | undefined
  readonly nullable: boolean
  /** A row may be written without it: it is nullable, has a default, or is an identity column. */
  readonly optional: boolean
  /** SQL of its default. */
  readonly preset?: string | undefined
  /** The database generates its values. */
  readonly increment?: boolean
  /** In the schema after migrations: the migration since which no field declares it. */
  readonly leftBy?: string | undefined
}

export interface ActualIndex {
  /** Without those that are expressions. */
  readonly columns: readonly string[]
  readonly unique: boolean
  /** SQL of the condition of the rows in it; `undefined`: all rows. */
  readonly where?: string | undefined
  /** The statements that make it again. */
  readonly create?: readonly string[]
  /** It belongs to a constraint, with which it is dropped. */
  readonly isConstraint?: boolean
}

export interface ActualForeignKey {
  readonly column: string
  readonly table: string
  /** If the database names it. */
  readonly name?: string | undefined
  /** `undefined` if it is the key of the table without being named. */
  readonly foreignColumn?: string | undefined
  /** The columns before them in a reference of two columns. */
  readonly shard?: { readonly column: string; readonly foreignColumn: string } | undefined
  /** In lower case; `no action` counts as `restrict`. */
  readonly onDelete?: string | undefined
}

/** By name. */
export type Catalogue = ReadonlyMap<string, ActualTable>

/** A table as its record declares it. Migrations write SQL from it and compare it with the database's catalogue. */
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
