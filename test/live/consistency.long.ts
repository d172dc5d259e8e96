/** Live queries are correct after random writes, on both engines. The long run: `npm run live-consistency`. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { startPostgres } from '../records/postgres-server.js'
import { findMistakes } from './consistency.js'

const folder = await mkdtemp(join(tmpdir(), 'live-consistency-'))
const server = await startPostgres()
afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

describe.each([
  ['SQLite', () => Promise.resolve(`sqlite:${join(folder, 'truth.db')}`)],
  ['PostgreSQL', () => server.createDatabase()],
])('live queries on %s', (_name, open) => {
  it('match the result of a fresh query, and never show hidden rows', async () => {
    const result = await findMistakes({
      url: await open(),
      queries: 24,
      writes: 150,
      seed: 20261123,
      timeout: 100_000,
    })
    expect(result.mistakes).toEqual([])
    expect(result.stored).toBeGreaterThan(80)
    expect(result.messages).toBeGreaterThan(30)
  })
})
