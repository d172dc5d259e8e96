/** The table that keeps advice about queries that read whole tables. */
import type { Database } from '../database.js'
import { ensureTable, hasTable } from '../own-tables.js'

const table = 'filigree_scans'
const hour = 3_600_000

const script = `create table if not exists ${table} (advice text primary key, seen_at text not null)`

export async function keepScan(database: Database, advice: string): Promise<void> {
  if (!(await ensureTable(database, table, script))) return
  const seen = new Date(database.context.now()).toISOString()
  await database.kysely
    .insertInto(table)
    .values({ advice, seen_at: seen })
    .onConflict((conflict) => conflict.column('advice').doUpdateSet({ seen_at: seen }))
    .execute()
}

/** The advice of the last hour. */
export async function readScans(database: Database): Promise<string[]> {
  if (!(await hasTable(database, table))) return []
  const rows = await database.kysely
    .selectFrom(table)
    .select('advice')
    .where('seen_at', '>', anHourAgo(database))
    .orderBy('advice')
    .execute()
  return rows.map(({ advice }) => String(advice))
}

export async function forgetScans(database: Database): Promise<void> {
  if (!(await hasTable(database, table))) return
  await database.kysely.deleteFrom(table).where('seen_at', '<', anHourAgo(database)).execute()
}

function anHourAgo({ context }: Database): string {
  return new Date(context.now() - hour).toISOString()
}
