/** Looks at what PostgreSQL does for other connections. */
import { sql } from 'kysely'
import type { Database } from '../../src/index.js'

/** A session that waits for a lock. */
export const waitsForLock = "wait_event_type = 'Lock'"

/** Counts the other sessions of the same database. @param condition SQL on `pg_stat_activity` */
export async function countSessions(observer: Database, condition: string): Promise<number> {
  const { rows } = await sql<{ count: unknown }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and ${sql.raw(condition)}`.execute(
    observer.kysely,
  )
  return Number(rows[0]?.count)
}
