/**
 * Cuts connections to PostgreSQL before, during and after commits of writes with an `Idempotency-Key`: `npm run faults -- --only
 * commits`, with 10,000 keys unless `--keys` sets another number.
 */
import { loseCommits } from '../modules/lost-commits.js'
import { startOwnPostgres } from '../records/postgres-server.js'
import { textOf } from './command-line.js'

export async function cutCommits(): Promise<number> {
  const keys = Number(textOf('keys') ?? 10_000)
  const server = await startOwnPostgres()
  try {
    const url = await server.createDatabase()
    const outcome = await loseCommits(url, { keys, clients: 16, cutEvery: 10 })
    const { cut, settledKeys: known, rowsWrittenTwice, rowsMissing } = outcome
    console.log(
      `commits: ${cut} of ${keys} keys were cut, ${known} are stored, ${rowsWrittenTwice} rows were written twice, ${rowsMissing} are missing`,
    )
    return rowsWrittenTwice + rowsMissing
  } finally {
    await server.close()
  }
}
