/** The tables that exist in a database. Each engine reads its own catalogue into these types. */
export interface ActualTable {
  readonly name: string
  /** A view, or a foreign table: it has columns, and neither keys nor rules that could be asked or made. */
  readonly isForeign?: boolean
  readonly columns: ReadonlyMap<string, ActualColumn>
  readonly indexes: ReadonlyMap<string, ActualIndex>
  readonly foreignKeys: readonly ActualForeignKey[]
  /** Columns of the primary key; in snapshots only of sharded tables. */
  readonly primaryKey?: readonly string[] | undefined
  /** Names of its checks. */
  readonly checks?: ReadonlySet<string>
}

export interface ActualColumn {
  readonly name: string
  /** In lower case, without collation: `text`. */
  readonly type: string
  readonly nullable: boolean
  /** A row may be written without it: it is nullable, has a default, or is an identity column. */
  readonly optional: boolean
  /** SQL of its default; `true` for a default that cannot be compared. */
  readonly preset?: string | true | undefined
}

export interface ActualIndex {
  readonly columns: readonly string[]
  readonly unique: boolean
}

export interface ActualForeignKey {
  readonly column: string
  readonly table: string
  /** If the database names it. */
  readonly name?: string | undefined
}

/** By name. */
export type Catalogue = ReadonlyMap<string, ActualTable>
