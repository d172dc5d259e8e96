/**
 * The features of a server, which are determined once. Settings in the address, `?listen=poll&locks=row`, take
 * precedence. Source: docs/scaling.md, Distributed engines.
 */
import { acceptsCopySql } from './bulk-insert.js'
import type { Listening, Locking } from './options.js'
import type { ConnectionPool } from './pool.js'

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
const copyCheck = acceptsCopySql("'pg_catalog.pg_class'")

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
