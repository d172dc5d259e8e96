/** The table that keeps advice about queries that read whole tables. */
import type { Database } from '../database.js'
import { ensureTable } from '../own-tables.js'
import { ownQuestion } from '../../engines/contract/statement.js'

const table = 'filigree_scans'
const hour = 3_600_000

const script = `create table if not exists ${table} (advice text primary key, seen_at text not null)`

export async function keepScan(database: Database, advice: string): Promise<void> {
  database.ownTables.add(table)
  if (!(await isThere(database)) && !(await ensureTable(database, table, script))) return
  const seen = new Date(database.context.now()).toISOString()
  await database.kysely
    .insertInto(table)
    .values({ advice, seen_at: seen })
    .onConflict((conflict) => conflict.column('advice').doUpdateSet({ seen_at: seen }))
    .execute()
}

/** The advice of the last hour. */
export async function readScans(database: Database): Promise<string[]> {
  if (!(await isThere(database))) return []
  const rows = await database.kysely
    .selectFrom(table)
    .select('advice')
    .where('seen_at', '>', anHourAgo(database))
    .orderBy('advice')
    .execute()
  return rows.map(({ advice }) => String(advice))
}

export async function forgetScans(database: Database): Promise<void> {
  if (!(await isThere(database))) return
  await database.kysely.deleteFrom(table).where('seen_at', '<', anHourAgo(database)).execute()
}

/** Asked in the background: somebody's lock on any table must cost no connection. */
async function isThere({ context: { engine, dialect } }: Database): Promise<boolean> {
  const question = ownQuestion(dialect.scans.tableCalled, { isFresh: true })
  return (await engine.run(question, [table], 'first')) !== undefined
}

function anHourAgo({ context }: Database): string {
  return new Date(context.now() - hour).toISOString()
}
