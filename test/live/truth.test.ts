/** Live answers are true after random writes, on both engines. The long one: `npm run live-truth`. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { startPostgres } from '../records/postgres-server.js'
import { findUntruths } from './truth.js'

const folder = await mkdtemp(join(tmpdir(), 'live-truth-'))
const server = await startPostgres()
afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

describe.each([
  ['SQLite', () => Promise.resolve(`sqlite:${join(folder, 'truth.db')}`)],
  ['PostgreSQL', () => server.createDatabase()],
])('live answers on %s', (_name, open) => {
  it('hold what a fresh question answers, and never showed what was not to be seen', async () => {
    const verdict = await findUntruths({
      url: await open(),
      queries: 24,
      writes: 150,
      seed: 20261123,
      patience: 10_000,
    })
    expect(verdict.faults).toEqual([])
    expect(verdict.stored).toBeGreaterThan(80)
    expect(verdict.messages).toBeGreaterThan(30)
  }, 60_000)
})
