/** Tables of the framework's own, made when they are first needed, in production too. */
import type { Database } from './database.js'

/** @param sql a script that makes the table where it is not there */
export async function ensureTable(database: Database, name: string, sql: string): Promise<void> {
  const { engine } = database.context
  if ((await engine.catalogue(engine)).has(name)) return
  // Two processes that start together must not both make it: the schema is one's at a time.
  await engine.changeSchema(async (runner) => {
    await runner.script(sql)
  })
}
