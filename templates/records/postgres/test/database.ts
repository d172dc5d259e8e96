/** The database of the tests: PostgreSQL in this process, in memory. */
import { pglite } from 'filigree'

export const database = pglite()
