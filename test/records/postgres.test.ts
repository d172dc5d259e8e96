import { describeDatabase } from '../contracts/database.contract.js'
import { startPostgres } from './postgres-server.js'

describeDatabase('PostgreSQL', async () => {
  const server = await startPostgres()
  return { url: () => server.createDatabase(), close: () => server.close() }
})
