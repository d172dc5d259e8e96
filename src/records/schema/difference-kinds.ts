/** In what ways a database is not what the records want. */
import type { ConstraintDifference } from './constraint-differences.js'
import type { RenameDifference } from './renames.js'
import type { ColumnSchema } from './schema.js'

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
    /** No row can be written while it must be filled. */
    | 'unfilled column'
    | 'unknown column'
    /** Its words are kept for nobody. */
    | 'unknown search'
    | ConstraintDifference['kind']
    | RenameDifference['kind']
  readonly table: string
  /** A sentence: `product.price is missing (Product.price).` */
  readonly message: string
  /** The records cannot work with it; false for a column that they do not know and need not fill. */
  readonly blocks: boolean
  /** The records work with it as it is; it is brought up to date when the schema is changed. */
  readonly upgrades?: boolean
  /**
   * `safe`: nothing is lost and it cannot fail. `may fail`: the rows that are there may not allow it; then nothing is changed.
   * `by hand`: data would be changed or lost; sync leaves it alone and a migration is to be reviewed.
   */
  readonly remedy: 'safe' | 'may fail' | 'by hand'
  /** Statements, in order. */
  readonly sql: readonly string[]
  /** Statements that take it back; `undefined` where the old state is not known any more. */
  readonly undo?: readonly string[]
  /** Of a missing column and a stricter one. */
  readonly column?: ColumnSchema
  /** Statements that follow when the others are committed, and hold nobody up. */
  readonly later?: readonly string[]
  /** They make the table anew, with everything else that differs in it. */
  readonly rebuilds?: boolean
}
