/** The rights on PostgreSQL. `rights.test.ts` runs them on SQLite. */
import { afterAll } from '@jest/globals'
import { describeRights } from '../contracts/rights/rights.contract.js'
import { startPostgres } from './postgres-server.js'

const server = await startPostgres()
afterAll(() => server.close())

describeRights('PostgreSQL', () => server.createDatabase())
