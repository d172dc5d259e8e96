/** The options for opening a PostgreSQL database, and the error if that fails. */
import { DeclarationError } from '../../errors/declaration-error.js'
import type { Log } from '../../core/log.js'

const names = ['statement_timeout', 'lock_timeout'] as const

/** Whether a server has refused a connection because of its time-outs. */
export function refusesLimits(cause: unknown): boolean {
  return /unsupported startup parameter.*(statement|lock)_timeout/.test(String(cause))
}

/**
 * Options for a pooler that does not accept time-outs as startup parameters, such as PgBouncer: each transaction sets
 * them in the message that begins it. Parameters of the address still take precedence. Source:
 * docs/records/postgresql-in-production.md, Behind a pooler.
 */
export function withTransactionLimits(options: PostgresOptions): PostgresOptions {
  const withoutLimits = (url: string): string => {
    const address = new URL(url)
    for (const name of names) address.searchParams.delete(name)
    return address.href
  }
  return {
    ...options,
    url: withoutLimits(options.url),
    otherUrls: (options.otherUrls ?? []).map(withoutLimits),
    statementTimeout: 0,
    lockTimeout: 0,
    transactionLimits: limitsOf(options),
  }
}

/** The statements that set the time-outs of the options in a transaction. */
export function limitsOf(options: PostgresOptions): readonly string[] {
  const { statementTimeout = 30_000, lockTimeout = 10_000, transactionLimits } = options
  if (transactionLimits !== undefined) return transactionLimits
  const { searchParams } = new URL(options.url)
  const [statement, lock] = names.map((name) => readLimit(searchParams.get(name)))
  const limits = [
    ['statement_timeout', statement ?? statementTimeout],
    ['lock_timeout', lock ?? lockTimeout],
  ] as const
  return limits
    .filter(([, milliseconds]) => milliseconds > 0)
    .map(([name, milliseconds]) => `set local ${name} = ${milliseconds}`)
}

/** Milliseconds. Other values are ignored. */
function readLimit(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

export interface PostgresOptions {
  /** `postgres://user:password@host:5432/name`, with all parameters that pg knows. */
  readonly url: string
  /** Addresses of the same database at further hosts, which are tried in order. */
  readonly otherUrls?: readonly string[]
  /** The kind of server that connections need, as `target_session_attrs` of libpq. Default `any`. */
  readonly sessionKind?: SessionKind | undefined
  /** The maximum number of connections. Default 10. */
  readonly connections?: number
  /** Milliseconds to wait for a connection. Default 5,000. */
  readonly connectTimeout?: number
  /** The server's address without the pooler, for LISTEN and schema changes, which need a session. Default: `url`. */
  readonly direct?: string
  /** Whether statements are prepared, once on each connection. Default true. */
  readonly prepare?: boolean
  /**
   * Milliseconds to wait for other processes that change the schema or use a table that is to be changed. Default
   * 60,000.
   */
  readonly schemaTimeout?: number
  /**
   * Milliseconds after which the server cancels a statement, unless the address sets it; 0 means never. Default 30,000.
   */
  readonly statementTimeout?: number | undefined
  /** Milliseconds that a statement waits for a lock, unless the address sets it; 0 means no limit. Default 10,000. */
  readonly lockTimeout?: number
  /** Statements that set the time-outs in each transaction, for poolers that do not accept them otherwise. */
  readonly transactionLimits?: readonly string[]
  /** How changes of other processes are received. Default: determined by queries to the server. */
  readonly listen?: Listening | undefined
  /** How the schema is locked. Default: determined by queries to the server. */
  readonly locks?: Locking | undefined
  /** Receives errors of idle connections. */
  readonly log: Log
}

/** An address of the database for each host. */
export function urlsOf({ url, otherUrls = [] }: PostgresOptions): readonly string[] {
  return [url, ...otherUrls]
}

/** The error for an unreachable database. It contains the hosts without the password. */
export function unreachableError(options: PostgresOptions, cause: unknown): DeclarationError {
  const { message } = (cause ?? {}) as { message?: unknown }
  const reason = typeof message === 'string' && message !== '' ? message : String(cause)
  const hosts = urlsOf(options).map((url) => new URL(url).host)
  const { pathname } = new URL(options.url)
  const error = new DeclarationError([
    {
      code: 'DATABASE_UNREACHABLE',
      message: `The database ${hosts.join()}${pathname} cannot be reached: ${reason}.`,
      remedy:
        'Check DATABASE_URL and that the server is up. A start asks it what it can do and compares its tables with the records, so it ends without an answer.',
    },
  ])
  error.cause = cause
  return error
}

/** Kinds of servers. Source: PostgreSQL, libpq, target_session_attrs. */
export const sessionKinds = ['any', 'read-write', 'read-only', 'primary', 'standby'] as const
export type SessionKind = (typeof sessionKinds)[number]

/** How processes learn of each other's changes: by NOTIFY, or by polling a table. */
export type Listening = 'notify' | 'poll'
/** How the schema is locked: by an advisory lock of the server, or by a locked row. */
export type Locking = 'advisory' | 'row'
