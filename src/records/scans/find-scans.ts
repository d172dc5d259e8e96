/** Names the queries of the last hour that read whole tables, for people. */
import type { Database } from '../database.js'
import { readScans } from './kept-scans.js'
import { adviceOf } from './scan-log.js'

/** Kept ones, and those of the server's own statistics where it has such. */
export async function findScans(database: Database): Promise<string[]> {
  await database.sizes.read()
  const found = new Set(await readScans(database))
  for (const sql of await readStatistics(database)) {
    const advice = await adviceOf(database, sql).catch(() => undefined)
    if (advice !== undefined) found.add(advice)
  }
  return [...found].sort()
}

/** The statements that took longest. Nothing where the extension is not there, or not for this user. */
async function readStatistics({ context: { engine, dialect } }: Database): Promise<string[]> {
  const { statistics } = dialect.scans
  if (statistics === undefined) return []
  try {
    const { rows } = await engine.query({ sql: statistics, writes: false }, [])
    return rows.map(([sql]) => String(sql))
  } catch {
    return []
  }
}
