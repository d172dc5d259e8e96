/** Sessions in the database, shared by all processes that use it. Source: decisions, Sessions. */
import type { SessionStore } from '../sessions/session-store.js'
import type { Database } from './database.js'
import type { Dialect } from '../engines/contract/dialect.js'
import type { Statement } from '../engines/contract/engine.js'
import { frameworkQuery, frameworkChange } from '../engines/contract/statement.js'
import { after, attempt, type MaybePromise } from '../core/maybe-promise.js'
import { createTimedRunner, ensureTable, whenAvailable, refuseWrite } from './own-tables.js'
import { refuseUnavailable } from './statements/client-errors.js'

/** @returns the store, after its table has been created */
export async function createDatabaseSessionStore(database: Database): Promise<SessionStore> {
  const ensure = (): Promise<boolean> => ensureTable(database, 'filigree_session', createTable)
  const isThere = await ensure()
  // The session is stored after the handler, and therefore after its transaction.
  const statements = writeStatements(database.context.dialect)
  const runTimed = createTimedRunner(database)
  const change = (statement: Statement, values: readonly unknown[]): MaybePromise<void> =>
    after(
      attempt(
        () => runTimed(() => database.runner().run(statement, values, 'count')),
        refuseUnavailable,
      ),
      () => undefined,
    )
  const store: SessionStore = {
    read: (hash, now) =>
      after(
        attempt(
          () => runTimed(() => database.runner().run(statements.read, [hash, now], 'first')),
          refuseUnavailable,
        ),
        (row) => (row === undefined ? undefined : String(row[0])),
      ),
    write: (hash, data, expiresAt, known) => {
      return known
        ? change(statements.replace, [data, expiresAt, hash])
        : change(statements.write, [hash, data, expiresAt])
    },
    remove: (hash) => change(statements.remove, [hash]),
    sweep: (now) => change(statements.sweep, [now]),
  }
  return isThere ? store : deferred(whenAvailable(ensure, store, emptyStore))
}

function deferred(current: () => MaybePromise<SessionStore>): SessionStore {
  return {
    read: (hash, now) => after(current(), (store) => store.read(hash, now)),
    write: (...session) => after(current(), (store) => store.write(...session)),
    remove: (hash) => after(current(), (store) => store.remove(hash)),
    sweep: (now) => after(current(), (store) => store.sweep?.(now)),
  }
}

/** The store for a replica that has no table of sessions yet. */
const emptyStore: SessionStore = {
  read: () => undefined,
  write: refuseSession,
  remove: refuseSession,
}

function refuseSession(): never {
  return attempt<never>(refuseWrite, refuseUnavailable) as never
}

const createTable = `create table if not exists filigree_session (
  hash text primary key not null,
  data text not null,
  expires_at bigint not null
);
create index if not exists filigree_session_expires_at on filigree_session (expires_at)`

type Name = 'read' | 'write' | 'replace' | 'remove' | 'sweep'

function writeStatements({ placeholder: p }: Dialect): Readonly<Record<Name, Statement>> {
  const facts = { tables: ['filigree_session'], isFresh: true } as const
  const change = (kind: 'upsert' | 'update' | 'delete', sql: string): Statement =>
    frameworkChange(kind, sql, facts)
  return {
    read: frameworkQuery(
      `select data from filigree_session where hash = ${p(1)} and expires_at > ${p(2)}`,
      { ...facts, together: 'calls', bound: 1 },
    ),
    write: change(
      'upsert',
      `insert into filigree_session (hash, data, expires_at) values (${p(1)}, ${p(2)}, ${p(3)})
       on conflict (hash) do update set data = excluded.data, expires_at = excluded.expires_at`,
    ),
    replace: change(
      'update',
      `update filigree_session set data = ${p(1)}, expires_at = ${p(2)} where hash = ${p(3)}`,
    ),
    remove: change('delete', `delete from filigree_session where hash = ${p(1)}`),
    sweep: change('delete', `delete from filigree_session where expires_at <= ${p(1)}`),
  }
}
