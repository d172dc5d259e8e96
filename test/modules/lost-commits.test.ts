/** A key is not released while it is unknown whether its request has written. Source: decisions, Records: transactions. */
import { afterAll, expect, it } from '@jest/globals'
import { startPostgres } from '../records/postgres-server.js'
import { loseCommits } from './lost-commits.js'

const server = await startPostgres()
afterAll(() => server.close())

it('writes no row twice where connections are cut before, during and after the commit', async () => {
  const outcome = await loseCommits(await server.createDatabase(), {
    ...{ keys: 48, clients: 8, cutEvery: 3 },
  })
  expect(outcome.cut).toBeGreaterThan(12)
  expect(outcome).toMatchObject({ settledKeys: 48, rowsWrittenTwice: 0, rowsMissing: 0 })
})
