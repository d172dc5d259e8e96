/** Lists the queries of the last hour that read whole tables, as sentences for people. */
import type { Database } from '../database.js'
import { ownQuestion } from '../../engines/contract/statement.js'
import { readScans } from './kept-scans.js'
import { adviceOf } from './scan-log.js'

/** From the kept advice, and from the server's own statistics if it has them. */
export async function findScans(database: Database): Promise<string[]> {
  await database.sizes.read()
  const found = new Set(await readScans(database))
  for (const sql of await readStatistics(database)) {
    const advice = await adviceOf(database, sql).catch(() => undefined)
    if (advice !== undefined) found.add(advice)
  }
  return [...found].sort()
}

/** The slowest statements. An empty list if the extension is missing, or this user may not read it. */
async function readStatistics({ context: { engine, dialect } }: Database): Promise<string[]> {
  const { statistics } = dialect.scans
  if (statistics === undefined) return []
  try {
    const { rows } = await engine.run(ownQuestion(statistics), [], 'all')
    return rows.map(([sql]) => String(sql))
  } catch {
    return []
  }
}
