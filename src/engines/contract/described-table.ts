/** The tables of a database in full, for programs that write code from them. Each engine reads its own catalogue. */

import type { Digits } from '../../fields/kinds/kind.js'
import type { KindName } from '../../fields/kinds/table.js'

export interface CatalogueTable {
  /** `undefined` for the schema that unqualified names refer to, and for engines without schemas. */
  readonly schema: string | undefined
  readonly name: string
  readonly kind: TableKind
  /** False for a materialized view that was never refreshed, which cannot be read. */
  readonly isPopulated: boolean
  readonly comment: string | undefined
  readonly columns: readonly CatalogueColumn[]
  /** Empty if the table has no primary key. */
  readonly primaryKey: readonly string[]
  /** Plain indexes over columns, without conditions and expressions, and without the primary key. */
  readonly indexes: readonly CatalogueIndex[]
  readonly foreignKeys: readonly CatalogueForeignKey[]
  /** The conditions of its checks, as SQL: `(price >= 0)`. */
  readonly checks: readonly string[]
}

export type TableKind = 'table' | 'view' | 'materialized view' | 'foreign table' | 'virtual table'

export interface CatalogueColumn {
  readonly name: string
  /** As the catalogue writes it: `character varying(40)`, `order_status[]`, `nvarchar(160)`. */
  readonly type: string
  readonly form: ColumnForm
  readonly nullable: boolean
  /** The default as SQL. */
  readonly preset: string | undefined
  /** The database counts its values: a sequence, an identity column, or the row id of SQLite. */
  readonly isCounted: boolean
  /** The database computes its values from other columns. */
  readonly isComputed: boolean
  readonly comment: string | undefined
  /** The conditions of its domains, as SQL over `value`. */
  readonly checks: readonly string[]
}

/** What the values of a column are, as a field declares them. */
export interface ColumnForm {
  /** `string` for types that no kind fits: then values are text in the database's own form. */
  readonly kind: KindName
  readonly isList?: boolean
  /** The maximum number of characters of a text. */
  readonly maxLength?: number | undefined
  /** An integer with values of more than 32 bits. */
  readonly isLarge?: boolean
  /** Of a decimal. */
  readonly digits?: Digits
  /** The values of an enum, in order. */
  readonly values?: readonly string[]
  /** The name of the type, if a field of this kind cannot use the column without it: `order_status`, `int4[]`. */
  readonly type?: string
  /**
   * How the database compares texts, if not character by character: with spaces at the end, without regard to case, or by the
   * rules of a type that no kind fits.
   */
  readonly equality?: 'padded' | 'without case' | 'of its type'
  /** What a field of this kind loses, after the name of the column: `has numbers of which 15 digits are kept` */
  readonly remark?: string
}

export interface CatalogueIndex {
  readonly columns: readonly string[]
  readonly unique: boolean
}

export interface CatalogueForeignKey {
  readonly columns: readonly string[]
  readonly schema: string | undefined
  readonly table: string
  /** `undefined` for the primary key of the table. */
  readonly foreignColumns: readonly string[] | undefined
  /** In lower case: `cascade`, `set null`. */
  readonly onDelete: string
}
