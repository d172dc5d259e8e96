/**
 * Deletes every row, for tests: of the records, of link tables, and of the framework's own tables except the
 * migrations.
 */
import type { Database } from './database.js'

const excludedTables = new Set(['filigree_migration'])

/** Deletes all rows or none, and restarts generated keys at 1. */
export async function emptyTables(database: Database): Promise<void> {
  const { engine, dialect } = database.context
  const tableNames = new Set([...database.ownTables].filter((name) => !excludedTables.has(name)))
  for (const { name, relations } of database.tables) {
    tableNames.add(name)
    for (const { join } of relations.values()) if (join !== undefined) tableNames.add(join.name)
  }
  const catalogue = await engine.catalogue(engine)
  const existingTables = [...tableNames].filter((name) => {
    const table = catalogue.get(name)
    return table !== undefined && table.isForeign !== true
  })
  await engine.changeSchema((runner) => dialect.changes.empty(runner, existingTables))
}
