/**
 * The options for opening a PostgreSQL database, the error if that fails, and the features of its server. They are
 * determined once; settings in the address, `?listen=poll&locks=row`, take precedence. Source: docs/scaling.md, Distributed
 * engines.
 */
import { DeclarationError } from '../../errors/declaration-error.js'
import type { Log } from '../../core/log.js'
import { acceptsCopySql } from './bulk-insert.js'
import type { ConnectionPool } from './pool.js'

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
  const { statementTimeout = 30_000, lockTimeout = 10_000 } = options
  const address = new URL(options.url)
  const [statement, lock] = names.map((name) => readLimit(address.searchParams.get(name)))
  for (const name of names) address.searchParams.delete(name)
  const limits = [
    ['statement_timeout', statement ?? statementTimeout],
    ['lock_timeout', lock ?? lockTimeout],
  ] as const
  return {
    ...options,
    url: address.href,
    statementTimeout: 0,
    lockTimeout: 0,
    transactionLimits: limits
      .filter(([, milliseconds]) => milliseconds > 0)
      .map(([name, milliseconds]) => `; set local ${name} = ${milliseconds}`)
      .join(''),
  }
}

/** Milliseconds. Other values are ignored. */
function readLimit(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

export interface PostgresOptions {
  /** `postgres://user:password@host:5432/name`, with all parameters that pg knows. */
  readonly url: string
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
  /** SQL after `begin` that sets the time-outs in each transaction, for poolers that do not accept them otherwise. */
  readonly transactionLimits?: string
  /** How changes of other processes are received. Default: determined by queries to the server. */
  readonly listen?: Listening | undefined
  /** How the schema is locked. Default: determined by queries to the server. */
  readonly locks?: Locking | undefined
  /** Receives errors of idle connections. */
  readonly log: Log
}

/** The error for an unreachable database. It contains the address without the password. */
export function unreachableError(url: string, cause: unknown): DeclarationError {
  const { message } = (cause ?? {}) as { message?: unknown }
  const reason = typeof message === 'string' && message !== '' ? message : String(cause)
  const address = URL.canParse(url) ? new URL(url) : undefined
  const error = new DeclarationError([
    {
      code: 'DATABASE_UNREACHABLE',
      message: `The database ${address?.host ?? ''}${address?.pathname ?? ''} cannot be reached: ${reason}.`,
      remedy:
        'Check DATABASE_URL and that the server is up. A start asks it what it can do and compares its tables with the records, so it ends without an answer.',
    },
  ])
  error.cause = cause
  return error
}

export interface ServerTraits {
  /** `PostgreSQL`, `CockroachDB`, `YugabyteDB`, `Citus`, `Aurora`, `Neon`, `PGlite`. */
  readonly product: string
  /** True for a replica, which accepts no writes. */
  readonly isReadOnly: boolean
  /** How processes are notified of each other's changes: by NOTIFY, or by polling a table. */
  readonly listen: Listening
  /** How the schema is locked: by an advisory lock of the server, or by a locked row. */
  readonly locks: Locking
  /** Whether it accepts rows with `copy … from stdin`, and can report for which tables. */
  readonly copies: boolean
}

type Listening = 'notify' | 'poll'
type Locking = 'advisory' | 'row'

/** The settings in the address. */
interface TraitSettings {
  readonly listen?: Listening | undefined
  readonly locks?: Locking | undefined
}

export async function readServerTraits(
  pool: ConnectionPool,
  settings: TraitSettings,
): Promise<ServerTraits> {
  const product = await readProduct(pool)
  const defaults = productDefaults[product] ?? {}
  return {
    product,
    isReadOnly:
      (await queryValue(pool, `select current_setting('transaction_read_only')`)) === 'on',
    listen: settings.listen ?? defaults.listen ?? 'notify',
    locks:
      settings.locks ??
      defaults.locks ??
      ((await queryValue(pool, tryLock)) === true ? 'advisory' : 'row'),
    copies: !withoutCopy.has(product) && (await queryValue(pool, copyCheck)) === true,
  }
}

/**
 * Servers that accept the statements without effect: CockroachDB's advisory locks have no effect, YugabyteDB
 * ignores LISTEN. If a newer version supports them, the address can say so.
 */
const productDefaults: Readonly<Record<string, TraitSettings>> = {
  CockroachDB: { listen: 'poll', locks: 'row' },
  YugabyteDB: { listen: 'poll', locks: 'row' },
}

/** Servers whose `copy` differs from PostgreSQL's or could not be tested. Rows are sent as lists of values. */
const withoutCopy: ReadonlySet<string> = new Set(['CockroachDB', 'YugabyteDB', 'PGlite'])

/** The same query runs later for each table, where a failure would end a transaction. */
const copyCheck = acceptsCopySql.replace('$1', "'pg_catalog.pg_class'")

/** The lock is released immediately, because the statement is its own transaction. */
const tryLock = 'select pg_try_advisory_xact_lock_shared(4163170432)'

async function readProduct(pool: ConnectionPool): Promise<string> {
  const version = String(await queryValue(pool, 'select version()'))
  if (version.startsWith('CockroachDB')) return 'CockroachDB'
  if (/-YB-/.test(version)) return 'YugabyteDB'
  if (version.includes('emcc')) return 'PGlite'
  const found = await queryValue(
    pool,
    `select case
      when exists (select from pg_catalog.pg_extension where extname = 'citus') then 'Citus'
      when exists (select from pg_catalog.pg_proc where proname = 'aurora_version') then 'Aurora'
      when current_setting('neon.timeline_id', true) is not null then 'Neon'
      else 'PostgreSQL' end`,
  )
  return typeof found === 'string' ? found : 'PostgreSQL'
}

/** @returns the single value; `undefined` if the server does not support the query */
async function queryValue(pool: ConnectionPool, text: string): Promise<unknown> {
  try {
    const [row] = await pool.query(text)
    return row?.[0]
  } catch {
    return undefined
  }
}
