/** What a PostgreSQL is opened with, and the fault of one that cannot be. */
import { DeclarationError } from '../../../errors/declaration-error.js'
import type { Log } from '../../../core/log.js'
import type { Listening, Locking } from './server-traits.js'

export interface PostgresOptions {
  /** `postgres://user:password@host:5432/name`, with whatever parameters pg understands. */
  readonly url: string
  /** Most connections at once. Default 10. */
  readonly connections?: number
  /** Milliseconds to wait for a connection. Default 5,000. */
  readonly connectTimeout?: number
  /** The same database around a pooler, for what needs a session: LISTEN, changes of the schema. Default: `url`. */
  readonly direct?: string
  /** Statements are prepared once a connection. Default true. */
  readonly prepare?: boolean
  /** Milliseconds to wait for others who change the schema or use a table that is changed. Default 60,000. */
  readonly schemaTimeout?: number
  /** Milliseconds after which the server ends a statement, unless the address says otherwise; 0 is never. Default 30,000. */
  readonly statementTimeout?: number | undefined
  /** Milliseconds that a statement waits for a lock, unless the address says otherwise; 0 is without end. Default 10,000. */
  readonly lockTimeout?: number
  /** Set by each transaction for itself, behind a pooler that takes no time-outs otherwise; stands behind its `begin`. */
  readonly limitsWithin?: string
  /** How changes of other processes are heard, where the server need not be asked. */
  readonly listen?: Listening | undefined
  /** How the schema is locked, where the server need not be asked. */
  readonly locks?: Locking | undefined
  /** Gets what happens to connections that nobody uses at the moment. */
  readonly log: Log
}

/** The address without its password, which no report may show. */
export function toBootFault(url: string, cause: unknown): DeclarationError {
  const { message } = (cause ?? {}) as { message?: unknown }
  const reason = typeof message === 'string' && message !== '' ? message : String(cause)
  const where = URL.canParse(url) ? new URL(url) : undefined
  const error = new DeclarationError([
    {
      code: 'DATABASE_UNREACHABLE',
      message: `The database ${where?.host ?? ''}${where?.pathname ?? ''} cannot be reached: ${reason}.`,
      remedy: 'Check DATABASE_URL and that the server is up.',
    },
  ])
  error.cause = cause
  return error
}
