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
