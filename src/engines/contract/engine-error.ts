/** The kinds of database errors, which are the same for every engine. */
import { acceptOtherCopies } from '../../errors/shared-class.js'

export type EngineErrorKind =
  /** A unique constraint is violated. */
  | 'unique'
  /** An exclusion constraint is violated, for example by overlapping times. */
  | 'exclusion'
  /** A key refers to no row, or other rows still refer to a row. */
  | 'reference'
  /** Null, or out of range: the value passed the field's rules, but the column does not accept it. */
  | 'value'
  /** A partitioned table has no partition for a row. */
  | 'noPartition'
  /** A sum overflows. `Dialect.total` can compute it in another way. */
  | 'overflow'
  /** JSON contains a value that GraphQL cannot represent: see json-sql.ts. */
  | 'inexpressible'
  /** A stored value is not of its column's form, because another program has written it. */
  | 'malformed'
  /** The next generated key would exceed the largest key. */
  | 'keysExhausted'
  /** Two transactions conflict. This one may run again from its beginning. */
  | 'conflict'
  /** The database is locked, full, read-only or unreachable. A later attempt may succeed. */
  | 'unavailable'
  /** The rows of a client's read have more bytes than it may have. */
  | 'tooLarge'
  | 'other'

export interface EngineErrorDetails {
  /** The columns, if the database reports them. */
  readonly columns?: readonly string[]
  /** The index or constraint, if the database reports it. */
  readonly constraint?: string
  /** The colliding values in the database's message, only for comparisons. */
  readonly collision?: string
  /** The key that refers to no row, as text, if the database reports it. */
  readonly missingKey?: string | undefined
  /** The value that the database refused, as it was sent, if the database reports it. */
  readonly refusedValue?: string | undefined
  /** The type that refused a value, if the database reports only the type. */
  readonly refusedType?: string | undefined
  /** The domain whose check refused a value. */
  readonly refusedDomain?: string | undefined
  /** The database accepts no writes. */
  readonly isReadOnly?: boolean
  /** A connection pooler without sessions is in between, so only another address helps. */
  readonly needsSession?: boolean
}

/** An error of a driver with its kind. The message is the driver's and never sent to a client. */
export class EngineError extends Error {
  readonly kind: EngineErrorKind
  readonly columns: readonly string[] | undefined
  readonly constraint: string | undefined
  readonly collision: string | undefined
  readonly missingKey: string | undefined
  readonly refusedValue: string | undefined
  readonly refusedType: string | undefined
  readonly refusedDomain: string | undefined
  readonly isReadOnly: boolean
  readonly needsSession: boolean

  constructor(
    kind: EngineErrorKind,
    message: string,
    cause?: unknown,
    details: EngineErrorDetails = {},
  ) {
    super(message, { cause })
    this.name = 'EngineError'
    this.kind = kind
    this.columns = details.columns
    this.constraint = details.constraint
    this.collision = details.collision
    this.missingKey = details.missingKey
    this.refusedValue = details.refusedValue
    this.refusedType = details.refusedType
    this.refusedDomain = details.refusedDomain
    this.isReadOnly = details.isReadOnly === true
    this.needsSession = details.needsSession === true
  }
}

acceptOtherCopies(EngineError, 'EngineError')
