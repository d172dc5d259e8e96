/**
 * The table of a record class: frozen data. Repositories, the schema's SQL, `crud` and GraphQL read records only
 * through it. Source: docs/maintainers/architecture.md.
 */
import type { Column, TableSearch } from '../../engines/contract/table.js'
import type { Shape } from '../../fields/shape.js'
import type { Class } from '../../metadata/class.js'
import type { SqlTable, SqlRelation } from '../../sql/table.js'
import type { Condition as SqlCondition } from '../../sql/condition.js'
import type { RecordOptions } from './record.js'

/** A relation between records by keys. */
export interface Relation extends SqlRelation {
  /** The side that has the property. */
  readonly table: Table
  /** The related table. Its relations are complete after `readTable` has returned. */
  readonly target: Table
  /** For `belongsTo`. */
  readonly onDelete: 'restrict' | 'cascade' | 'setNull'
}

export interface Table<T extends object = object> extends SqlTable {
  readonly type: Class<T>
  /** The options of `@Record`: query names, `softDelete`, `timestamps`, `rows`. */
  readonly options: Readonly<RecordOptions>
  readonly shape: Shape<T>
  readonly byProperty: ReadonlyMap<string, Column>
  /** The columns that statements write: all but those that the database computes. */
  readonly writtenColumns: readonly Column[]
  /** The text fields in which words are searched. */
  readonly search: TableSearch | undefined
  /** By property. */
  readonly relations: ReadonlyMap<string, Relation>
  /** `updated_at`, if the record has `timestamps: true`. */
  readonly updatedAt: Column | undefined
  /** Errors for clients when the application's own constraints are violated, by their names in the database. */
  readonly constraints: ReadonlyMap<string, ConstraintError>
  /** Methods that run when a row is written or deleted. */
  readonly hooks: RecordHooks
  /** Whether rows are read before they are created or changed, and written one by one. */
  readonly hasWriteHooks: boolean
  /** Whether rows are read before they are deleted, and deleted one by one. */
  readonly hasDeleteHooks: boolean
}

/** A parsed filter. */
export type Condition = SqlCondition<Relation>

/**
 * The error for a client whose write violates a constraint of the application's own SQL: `@Record({ constraints })`.
 */
export interface ConstraintError {
  /** Undefined: the status depends on the kind of the constraint. */
  readonly status: number | undefined
  readonly message: string | undefined
  readonly column: Column | undefined
}

/** The names of the methods, starting with the base class. */
export interface RecordHooks {
  readonly beforeWrite: readonly string[]
  readonly afterWrite: readonly string[]
  readonly afterCommit: readonly string[]
  readonly beforeDelete: readonly string[]
  readonly afterDelete: readonly string[]
}

/** A row as a record: its values by property. */
export type Instance = Record<string, unknown>
