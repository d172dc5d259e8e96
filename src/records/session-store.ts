/** Sessions in the database, shared by all processes that use it. Source: decisions, Sessions. */
import { toSessionStore, type SessionStore } from '../auth/sessions.js'
import type { Database } from './database.js'
import { createExpiringTable, type ExpiringTable } from './expiring-table.js'
import { refuseUnavailable } from './statements/client-errors.js'

const sessions: ExpiringTable<string> = {
  name: 'filigree_session',
  createTable: `create table if not exists filigree_session (
  hash text primary key not null,
  data text not null,
  expires_at bigint not null
);
create index if not exists filigree_session_expires_at on filigree_session (expires_at)`,
  key: 'hash',
  columns: ['data'],
  expiresAt: 'expires_at',
  toColumns: (data) => [data],
  fromColumns: ([data]) => String(data),
  refuse: refuseUnavailable,
}

/** @returns the store, after its table has been created */
export async function createDatabaseSessionStore(database: Database): Promise<SessionStore> {
  // Sessions are stored after the handler, and therefore after its transaction.
  return toSessionStore(await createExpiringTable(database, sessions))
}
