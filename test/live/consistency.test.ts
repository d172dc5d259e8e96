/** Live queries are correct after random writes, on both engines. The long run: `npm run live-consistency`. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { bootstrap, Database } from 'filigree'
import { startPostgres } from '../records/postgres-server.js'
import { openLive } from './live-client.js'
import { fillTables, TicketModule } from './consistency-data.js'
import { findMistakes } from './consistency.js'

/** The driver, which has no type declarations. */
const { Client } = createRequire(import.meta.url)('pg') as {
  readonly Client: new (options: { connectionString: string; application_name: string }) => {
    connect(): Promise<void>
    query(text: string): Promise<unknown>
    end(): Promise<void>
  }
}
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

it('are notified of writes to PostgreSQL by another program, with the trigger of docs/live.md', async () => {
  const url = await server.createDatabase()
  const app = await bootstrap(TicketModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    database: url,
    env: {},
  })
  await app.get(Database).sync()
  await fillTables(app.get(Database))
  const psql = new Client({ connectionString: url, application_name: 'psql' })
  await psql.connect()
  const page = await readFile(new URL('../../docs/live.md', import.meta.url), 'utf8')
  await psql.query(/```sql\n(.*?)```/s.exec(page)?.[1] ?? '')
  await psql.query('update ticket set is_open = false')
  const list = await openLive(`${app.url}/tickets?fields=id,title`)
  expect(await list.message()).toEqual({ version: 1, data: [] })
  await psql.query("update ticket set is_open = true, title = 'by hand' where id = 3")
  expect(await list.message()).toMatchObject({ set: [{ id: 3, title: 'by hand' }] })
  list.leave()
  await psql.end()
  await app.close()
})
