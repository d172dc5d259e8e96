/**
 * A start whose database accepts connections and then does not respond, from the beginning or midway: it fails with the reason.
 * Source: docs/production.md, When the database does not answer.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, connect, Field, Module, Record } from '../../src/index.js'
import { health } from '../../src/modules/health/health.js'
import { throttle } from '../../src/modules/throttle/throttle.js'
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'
import { startStallingProxy } from '../records/stalling-proxy.js'

@Record
class Lamp {
  @Field('id') id!: number
}

@Module({ records: [Lamp], imports: [health(), throttle({ limit: '5/m', store: 'database' })] })
class DeskModule {}

let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres()
  const database = await connect(server.url, { records: [Lamp] })
  await database.sync()
  await database.close()
})
afterAll(() => server.close())

describe.each([
  ['development', {}],
  ['production', { NODE_ENV: 'production' }],
])('in %s', (_, settings) => {
  // The number of packets that the server sends before it stalls: during the first connection, the first queries, the migration.
  it.each([1, 9, 13, 17])('a start fails after %d responses', async (responses) => {
    const proxy = await startStallingProxy(server.url)
    proxy.stallAfter(responses)
    const DATABASE_URL = `${proxy.through(server.url)}?connectTimeout=500`
    const auth = { keys: false } as const
    const listening = { port: 0, host: '127.0.0.1', logger: false, auth } as const
    const started = bootstrap(DeskModule, { ...listening, env: { ...settings, DATABASE_URL } })
    await expect(started).rejects.toThrow(
      /The database (?:127\S+ cannot be reached: |stopped responding while|failed while)/,
    )
    await proxy.close()
  })
})
