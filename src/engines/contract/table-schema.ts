/** The tables that exist in a database. Each engine reads its own catalogue into these types. */
import type { PartitionSchema } from './partitions.js'

export interface ActualTable {
  readonly name: string
  /** A view or a foreign table, which has columns but no keys and constraints. */
  readonly isForeign?: boolean
  /**
   * Its `create table` has the form that this framework writes, so that each column has the exact type of its field.
   * Read only where types of other programs are less exact.
   */
  readonly hasOwnForm?: boolean
  /** A partitioned table, whose key must contain the partition columns. */
  readonly isPartitioned?: boolean
  /** How it is partitioned: `range (at)`. */
  readonly partitionKey?: string | undefined
  readonly columns: ReadonlyMap<string, ActualColumn>
  readonly indexes: ReadonlyMap<string, ActualIndex>
  readonly foreignKeys: readonly ActualForeignKey[]
  readonly primaryKey?: readonly string[] | undefined
  /** The SQL of its checks, by their names. */
  readonly checks?: ReadonlyMap<string, string>
  /** The names of the checks that were added as `not valid`: existing rows may break them. */
  readonly invalidChecks?: ReadonlySet<string>
  /** Undefined if the server distributes no tables. */
  readonly distribution?: Distribution
  /** In a snapshot: the migration after which no record declares the table. */
  readonly leftBy?: string | undefined
}

/** Where a server with several machines stores the rows of a table. */
export type Distribution =
  | { readonly kind: 'local' }
  /** Every machine has all rows. */
  | { readonly kind: 'reference' }
  /** A row is on the machine of the value in this column, which tables of one group share. */
  | { readonly kind: 'sharded'; readonly column: string; readonly group: string }

export interface ActualColumn {
  readonly name: string
  /** In lower case, without collation: `text`. */
  readonly type: string
  /** As `create table` writes it: `text collate "C"`. Default: the type. */
  readonly sql?: string | undefined
  /** The values of an enum that the database declares, or of the items of an array. */
  readonly labels?: readonly string[] | undefined
  readonly nullable: boolean
  /** Rows can be inserted without a value: it is nullable, has a default, or is an identity column. */
  readonly optional: boolean
  /** The default as SQL. */
  readonly preset?: string | undefined
  /** The database generates its values. */
  readonly increment?: boolean
  /** The database computes its values from other columns. Read only where a rebuild would lose the expression. */
  readonly isComputed?: boolean
  /** In a snapshot: the migration after which no field declares the column. */
  readonly leftBy?: string | undefined
}

export interface ActualIndex {
  /** Without expressions. */
  readonly columns: readonly string[]
  readonly unique: boolean
  /** The SQL condition of its rows; `undefined` for all rows. */
  readonly where?: string | undefined
  /** The statements that create it again. */
  readonly create?: readonly string[]
  /** It belongs to a constraint and is dropped with it. */
  readonly isConstraint?: boolean
  /** It holds not all rows, so that no statement uses it: an interrupted `create index concurrently` leaves it. */
  readonly isInvalid?: boolean
}

export interface ActualForeignKey {
  /** In a sharded table, the shard comes first. */
  readonly columns: readonly string[]
  readonly table: string
  /** The name, if the database has one. */
  readonly name?: string | undefined
  /** `undefined` for the primary key of the table, if the reference does not name it. */
  readonly foreignColumns?: readonly string[] | undefined
  /** In lower case; `no action` counts as `restrict`. */
  readonly onDelete?: string | undefined
  /** It was added as `not valid`: existing rows may refer to missing rows. */
  readonly isInvalid?: boolean
}

/** By name. */
export type Catalogue = ReadonlyMap<string, ActualTable>

/** A table as its record declares it. Migrations write SQL from it and compare it with the database's catalogue. */
export interface TableSchema {
  readonly name: string
  /** Names that it may have had earlier. */
  readonly oldNames?: readonly string[] | undefined
  readonly columns: readonly ColumnSchema[]
  /** The columns of the primary key: one, or two for join tables and sharded tables. */
  readonly primaryKey: readonly string[]
  /** Default: local. */
  readonly distribution?: Distribution
  /** Undefined if the table is not partitioned, or the database has no partitions. */
  readonly partitions?: TablePartitionsSchema | undefined
  /** False: another program makes and changes the table, so that only its columns are compared. */
  readonly isManaged?: boolean
  /** The table of the links between two records. Its old names follow from theirs. */
  readonly isJoin?: boolean
  readonly foreignKeys: readonly ForeignKeySchema[]
  /** Checks without a column in `columns`, for a table in its old form. */
  readonly checks?: readonly CheckSchema[]
  readonly indexes: readonly IndexSchema[]
}

/** The partitions of a table, each of which has a range of one column. */
export interface TablePartitionsSchema {
  readonly column: string
  /** The option of the record: `Event.at`. */
  readonly origin: string
  /** The partitions that a new table gets. */
  readonly first: readonly PartitionSchema[]
}

export interface ColumnSchema {
  readonly name: string
  /** Names that it may have had earlier. */
  readonly oldNames?: readonly string[] | undefined
  /** As written in `create table`: `text collate "C"`. */
  readonly type: string
  /** Set if the field names the type. */
  readonly declared?: NamedType | undefined
  readonly nullable: boolean
  /** The database generates its values. */
  readonly increment: boolean
  /** SQL of the value for existing rows when the column is added; `undefined` if there is none. */
  readonly fill: string | undefined
  /** SQL of the default for rows that other programs insert. */
  readonly preset?: string | undefined
  /** Of the field's rules, and of the form of stored values. */
  readonly checks?: readonly CheckSchema[]
  /** The field for messages: `Product.price`. */
  readonly origin: string
}

/** The type of a column that its field names. */
export interface NamedType {
  /** As the catalogue writes it, without modifiers: `integer[]`. */
  readonly name: string
  /** The type itself, or that of a list's items, as the field names it. */
  readonly item: string
  /** The values that the type must have, if the field is an enum. */
  readonly labels?: readonly string[] | undefined
}

/** A type of the database. */
export interface DatabaseType {
  /** The values of an enum. */
  readonly labels: readonly string[] | undefined
}

/** Types by the names that fields use. */
export interface DatabaseTypes {
  readonly found: ReadonlyMap<string, DatabaseType>
  /** The names of all types, to suggest one. Empty if every type was found. */
  readonly names: readonly string[]
}

/** A check constraint on a column. */
export interface CheckSchema {
  readonly name: string
  /** `"price" >= 0` */
  readonly sql: string
  /** It tests the form of stored values and no rule of the field. */
  readonly isOfForm?: boolean
}

export interface ForeignKeySchema {
  readonly name: string
  /** If both tables are sharded by the same column, the shard comes first. */
  readonly columns: readonly string[]
  readonly table: string
  readonly foreignColumns: readonly string[]
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
   * SQL of each part that is not a plain column. `where`, `using` and `extension` are the filter, the method and the
   * required extension.
   */
  readonly parts?: readonly string[]
  readonly where?: string | undefined
  readonly using?: 'gin'
  readonly extension?: 'pg_trgm'
  /** The columns in its expressions. */
  readonly over?: readonly string[]
  /** Statements that replace the index on databases without such indexes. `drop` does nothing if it does not exist. */
  readonly statements?: { readonly create: readonly string[]; readonly drop: readonly string[] }
}
