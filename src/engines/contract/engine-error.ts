/** What a database may answer instead of rows: errors of drivers, sorted by kinds that hold for every engine. */

/** What went wrong, in words that hold for every database. */
export type EngineErrorKind =
  /** A second row of the same unique values. */
  | 'unique'
  /** A second row of values that an exclusion constraint keeps apart, such as overlapping times. */
  | 'exclusion'
  /** A key that no row has, or a row that others still refer to. */
  | 'reference'
  /** Null, or out of range: the value passed the field's rules, but the column does not accept it. */
  | 'value'
  /** A sum that `total` makes by another way. */
  | 'overflow'
  /** A value that GraphQL has no word for, in JSON that the statement writes: see json-sql.ts. */
  | 'inexpressible'
  /** Two transactions cannot both go through; this one may be tried again from its beginning. */
  | 'conflict'
  /** Locked, full, read-only or gone: the same may work later. */
  | 'unavailable'
  | 'other'

export interface EngineErrorDetails {
  /** Names of columns, where the database tells. */
  readonly columns?: readonly string[]
  /** Name of the index or constraint, where the database tells. */
  readonly constraint?: string
  /** The values that collide, in the database's words; to compare, not to show. */
  readonly collision?: string
  /** It takes no writes at all. */
  readonly isReadOnly?: boolean
  /** A pooler stands before it that keeps no sessions: only another address helps. */
  readonly needsSession?: boolean
}

/** A driver's error, sorted. Its message is the driver's and never sent to a client. */
export class EngineError extends Error {
  readonly kind: EngineErrorKind
  readonly columns: readonly string[] | undefined
  readonly constraint: string | undefined
  readonly collision: string | undefined
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
    this.isReadOnly = details.isReadOnly === true
    this.needsSession = details.needsSession === true
  }
}
