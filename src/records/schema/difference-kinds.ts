/** The ways in which a database can differ from the records. */
import { writeDropIndex } from '../../engines/contract/ddl.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { quote } from '../../engines/contract/quote.js'
import type {
  ActualIndex,
  ActualTable,
  ColumnSchema,
  ForeignKeySchema,
  TableSchema,
} from '../../engines/contract/table-schema.js'
import { isOwnIndexName } from '../model/generated-names.js'

export interface Difference {
  readonly kind:
    | 'missing table'
    | 'missing column'
    | 'missing index'
    | 'missing foreign key'
    | 'looser column'
    | 'stricter column'
    | 'other type'
    | 'other key'
    | 'other partitions'
    /** A required column without a field, so that no row can be written. */
    | 'unfilled column'
    | 'unknown column'
    /** A search index that no record declares. */
    | 'unknown search'
    /** An index that no field declares any more. */
    | 'unknown index'
    /** A foreign key of a field that no record declares any more. */
    | 'unknown foreign key'
    /** Another `onDelete`, or another shard. */
    | 'other foreign key'
    | 'missing check'
    | 'other check'
    | 'other default'
    | 'renamed table'
    | 'renamed column'
    /** The rows are not on the machines that the record asks for. */
    | 'other distribution'
    /** A type that a field names, or a value that it needs of another program's enum. */
    | 'missing type'
    /** A value that the enum of managed tables lacks. It can be used once it is committed. */
    | 'missing value'
  readonly table: string
  /** A sentence: `product.price is missing (Product.price).` */
  readonly message: string
  /** Records cannot work with this difference; false e.g. for an unknown column that need not be filled. */
  readonly blocks: boolean
  /** Records work in spite of this difference. It is removed with the next schema change. */
  readonly upgrades?: boolean
  /**
   * `safe`: nothing is lost and it cannot fail. `may fail`: existing rows may not allow it; then nothing is changed.
   * `by hand`: data would be changed or lost; sync leaves it, and a migration must be reviewed.
   */
  readonly risk: 'safe' | 'may fail' | 'by hand'
  /** A query for a row that does not allow the change. If there is one, records work with the difference. */
  readonly unlessFound?: string
  /** Statements before the others that fail if a value cannot be converted. They change nothing. */
  readonly checks?: readonly string[]
  /** The statements that remove the difference, in order. */
  readonly sql: readonly string[]
  /** The statements that undo it; `undefined` if the old state is not known. */
  readonly undo?: readonly string[]
  /** The step that must be done by hand before, because no database can do it in the current state. */
  readonly first?: string | undefined
  /** The column, if it is missing, stricter or of another type. */
  readonly column?: ColumnSchema
  /** The columns of the table's key, if a column is missing or stricter. */
  readonly primaryKey?: readonly string[] | undefined
  /** The foreign key, if it is missing. */
  readonly key?: ForeignKeySchema
  /** The statements need a key or a distributed table that the same migration makes. */
  readonly isLate?: boolean
  /** What `sql` does, without blocking writes. Each statement is committed by itself. */
  readonly online?: readonly string[]
  /** The second step of another difference, which has the message. */
  readonly isSecond?: boolean
  /** The statements that a person would send instead, as one line. */
  readonly command?: string
  /** Statements that run after the others are committed. They do not block other work. */
  readonly deferred?: readonly string[]
  /** False: another program makes and changes the table, so that no migration removes the difference. */
  readonly isManaged?: boolean
  /** The statements rebuild the table, and so remove all other differences in it. */
  readonly rebuilds?: boolean
}

/** True if the rows of a table are not on the machines that the record asks for. */
export function isMisplaced({ kind, isSecond }: Difference): boolean {
  return kind === 'other distribution' && isSecond !== true
}

/** @returns the statements of an engine that changes tables by a rebuild, in both directions */
export function rebuildTable(
  schema: TableSchema,
  actual: ActualTable,
  dialect: Dialect,
): { readonly sql: string[]; readonly undo: string[]; readonly rebuilds: true } {
  const { changes } = dialect.tables
  if (changes.kind !== 'anew')
    throw new TypeError(`${dialect.product.title} does not rebuild tables.`)
  const stale = [...actual.indexes].flatMap(([name, index]) =>
    isStaleIndex(schema, name, index) ? writeDropIndex(schema.name, { name }) : [],
  )
  const added = schema.indexes.flatMap(({ name, statements }) =>
    statements === undefined && !actual.indexes.has(name)
      ? [`drop index if exists ${quote(name)}`]
      : [],
  )
  // Indexes that the table still has when it is dropped belong to the application. They are created again.
  return {
    sql: [...stale, ...changes.rebuild(schema, actual, dialect)],
    undo: [...added, ...changes.restore(actual, schema, dialect)],
    rebuilds: true,
  }
}

/** True for an index that the record has declared and no longer declares. */
export function isStaleIndex(schema: TableSchema, name: string, index: ActualIndex): boolean {
  return (
    !schema.indexes.some((one) => one.name === name) &&
    isOwnIndexName(name, schema.name, index) &&
    // Indexes of a column without a field are kept with the column.
    index.columns.every((column) => schema.columns.some((one) => one.name === column))
  )
}

/** A difference that no statement of ours removes. */
export function withoutChange(difference: Difference): Difference {
  return { ...difference, risk: 'by hand', first: undefined, sql: [], undo: undefined }
}

/** The table of a record, and the table of the database. */
export interface TablePair {
  readonly schema: TableSchema
  readonly actual: ActualTable
  /** The table was made by migrations. Then another type is a difference even if its values would fit. */
  readonly isExact: boolean
  /** The table was made for the record. Then parts that the record does not declare are removed. */
  readonly isOwn: boolean
}

/** ` (Product.name)` */
export function originOf({ columns }: TableSchema, names: readonly string[]): string {
  const origins = columns.filter(({ name }) => names.includes(name)).map(({ origin }) => origin)
  return origins.length === 0 ? '' : ` (${[...new Set(origins)].join(', ')})`
}

export function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index])
}

export function isSharded({ distribution }: TableSchema): boolean {
  return distribution?.kind === 'sharded'
}
