/** The SQLite drivers of this runtime. */
import { connect } from '../../src/index.js'

/** In order of preference. */
const names = ['bun:sqlite', 'node:sqlite', 'better-sqlite3'] as const

export async function findDrivers(): Promise<(typeof names)[number][]> {
  const found: (typeof names)[number][] = []
  for (const name of names) {
    const database = await connect(`sqlite::memory:?driver=${name}`).catch(() => undefined)
    if (database === undefined) continue
    found.push(name)
    await database.close()
  }
  return found
}
