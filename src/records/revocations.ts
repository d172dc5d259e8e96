/** Revoked tokens in the database, known to every process that uses it. Source: decisions, Authentication, "Revocation". */
import type { Revocations } from '../auth/revocations.js'
import type { Database } from './database.js'
import type { Statement } from './engines/engine.js'
import { after } from '../core/later.js'
import { ensureTable } from './own-tables.js'

export interface DatabaseRevocationsOptions {
  /** Milliseconds until a token that another process has revoked is refused here. Default 5,000. */
  readonly trustFor?: number
  /** Milliseconds since 1970. Default the system's clock. */
  readonly now?: () => number
}

/** The largest moment that JavaScript's dates know: for ever. */
const never = 8.64e15

/** @returns once its table is there */
export async function createDatabaseRevocations(
  database: Database,
  { trustFor = 5000, now = Date.now }: DatabaseRevocationsOptions = {},
): Promise<Revocations> {
  await ensureTable(database, 'filigree_revocation', createTable)
  const { engine } = database.context
  const { add, has, sweep } = writeStatements(engine.dialect.name)
  return {
    trustFor,
    add: (jti, until) =>
      after(engine.change(sweep, [now()]), () =>
        after(engine.change(add, [jti, Math.min(Math.ceil(until), never)]), () => undefined),
      ),
    has: (jti, at) => after(engine.first(has, [jti, at]), (row) => row !== undefined),
  }
}

const createTable = `create table if not exists filigree_revocation (
  jti text primary key not null,
  expires_at bigint not null
)`

function writeStatements(
  engine: 'sqlite' | 'postgres',
): Record<'add' | 'has' | 'sweep', Statement> {
  const p = (place: number): string => (engine === 'sqlite' ? '?' : `$${place}`)
  return {
    // A shorter one does not call a longer one back.
    add: {
      sql: `insert into filigree_revocation (jti, expires_at) values (${p(1)}, ${p(2)})
        on conflict (jti) do update set expires_at = excluded.expires_at
        where filigree_revocation.expires_at < excluded.expires_at`,
      writes: true,
    },
    has: {
      sql: `select 1 from filigree_revocation where jti = ${p(1)} and expires_at > ${p(2)}`,
      writes: false,
    },
    sweep: { sql: `delete from filigree_revocation where expires_at <= ${p(1)}`, writes: true },
  }
}
