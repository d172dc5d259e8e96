/**
 * What a server that speaks PostgreSQL's protocol lacks, asked of it once. What an address says goes before what was found
 * out: `?listen=poll&locks=row`. Sources: docs/scaling.md, Distributed engines.
 */
import { copiedTable } from './copy.js'
import type { ConnectionPool } from './pool.js'

export interface ServerTraits {
  /** `PostgreSQL`, `CockroachDB`, `YugabyteDB`, `Citus`, `Aurora`, `Neon`, `PGlite`. */
  readonly product: string
  /** It takes no writes: a replica. */
  readonly isReadOnly: boolean
  /** How processes hear of each other's changes: by NOTIFY, or by looking into a table. */
  readonly listen: Listening
  /** Who changes the schema holds a lock of the server, or a row with a time on it. */
  readonly locks: Locking
  /** It takes rows by `copy … from stdin`, and tells which tables do. */
  readonly copies: boolean
}

export type Listening = 'notify' | 'poll'
export type Locking = 'advisory' | 'row'

/** What the address says. */
export interface GivenTraits {
  readonly listen?: Listening | undefined
  readonly locks?: Locking | undefined
}

export async function readServerTraits(
  pool: ConnectionPool,
  given: GivenTraits,
): Promise<ServerTraits> {
  const product = await readProduct(pool)
  const known = lacking[product] ?? {}
  return {
    product,
    isReadOnly: (await ask(pool, `select current_setting('transaction_read_only')`)) === 'on',
    listen: given.listen ?? known.listen ?? 'notify',
    locks: given.locks ?? known.locks ?? ((await ask(pool, tryLock)) === true ? 'advisory' : 'row'),
    copies: !notCopying.has(product) && (await ask(pool, askCopied)) === true,
  }
}

/**
 * Servers that take the words and do nothing: CockroachDB's advisory locks are had by everybody, YugabyteDB ignores LISTEN.
 * Whether a server of the name has learnt it since is for the address to say.
 */
const lacking: Readonly<Record<string, GivenTraits>> = {
  CockroachDB: { listen: 'poll', locks: 'row' },
  YugabyteDB: { listen: 'poll', locks: 'row' },
}

/** Their `copy` is read about alone, or is another than PostgreSQL's: rows go as lists of values. */
const notCopying: ReadonlySet<string> = new Set(['CockroachDB', 'YugabyteDB', 'PGlite'])

/** Asked so of each table later, where a failure would end a transaction. */
const askCopied = copiedTable.replace('$1', "'pg_catalog.pg_class'")

/** Let go at once: it is a statement by itself. */
const tryLock = 'select pg_try_advisory_xact_lock_shared(4163170432)'

async function readProduct(pool: ConnectionPool): Promise<string> {
  const version = String(await ask(pool, 'select version()'))
  if (version.startsWith('CockroachDB')) return 'CockroachDB'
  if (/-YB-/.test(version)) return 'YugabyteDB'
  if (version.includes('emcc')) return 'PGlite'
  const found = await ask(
    pool,
    `select case
      when exists (select from pg_catalog.pg_extension where extname = 'citus') then 'Citus'
      when exists (select from pg_catalog.pg_proc where proname = 'aurora_version') then 'Aurora'
      when current_setting('neon.timeline_id', true) is not null then 'Neon'
      else 'PostgreSQL' end`,
  )
  return typeof found === 'string' ? found : 'PostgreSQL'
}

/** @returns the one value; `undefined` where the server does not know the question */
async function ask(pool: ConnectionPool, text: string): Promise<unknown> {
  try {
    const [row] = await pool.query(text)
    return row?.[0]
  } catch {
    return undefined
  }
}
