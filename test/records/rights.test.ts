/** The rights on SQLite. `rights.long.ts` runs them on PostgreSQL. */
import { describeRights } from '../contracts/rights/rights.contract.js'

describeRights('SQLite', () => Promise.resolve('sqlite::memory:'))
