/** The stores of sessions and revoked tokens, in memory and in a database. */
import type { Clock, Database, SessionStore } from '../../src/index.js'
import { createMemoryRevocations, type Revocations } from '../../src/auth/revocations.js'
import * as stores from '../../src/records/auth-stores.js'
import * as revocations from '../../src/records/revocation-store.js'
import { internalsOf } from '../records/open-database.js'

export { createMemoryRevocations }

export function createDatabaseSessionStore(database: Database): Promise<SessionStore> {
  return stores.createDatabaseSessionStore(internalsOf(database))
}

export function createDatabaseRevocations(
  database: Database,
  options?: { clock: Clock },
): Promise<Revocations> {
  return revocations.createDatabaseRevocations(internalsOf(database), options)
}
