/** Stores sessions, sign-ins and replaced tokens in the database, shared by all processes. Source: decisions, Sessions. */
import { toSessionStore, type SessionStore } from '../auth/session-stores.js'
import type { Database } from './database.js'
import { createExpiringTable, type ExpiringTable, createSweep } from './expiring-table.js'
import type { Row } from '../engines/contract/engine.js'
import { after } from '../core/maybe-promise.js'
import { createOwnTable, createTimedRunner, whenAvailable, toTimestamp } from './own-tables.js'
import { PreparedSql } from './prepared-sql.js'
import { maxSignIns, recordInterval, type SignIns, type SignInUse } from '../auth/sign-ins.js'
import {
  createSuccessors,
  sweepInterval,
  type Replaced,
  type Successors,
} from '../auth/successors.js'

const signInTable = 'filigree_sign_in'

const signInTableSql = `create table if not exists ${signInTable} (
  id text primary key not null,
  subject text not null,
  since bigint not null,
  last bigint not null,
  ends_at bigint not null,
  agent text,
  address text
);
create index if not exists ${signInTable}_subject on ${signInTable} (subject, ends_at);
create index if not exists ${signInTable}_ends_at on ${signInTable} (ends_at)`

/** Milliseconds for which an expired token is stored, because it may be valid by the clock of another process. */
const graceMs = 24 * 3_600_000

/** @returns the store, once its table exists */
export async function createDatabaseSignIns(database: Database): Promise<SignIns> {
  const createTable = (): Promise<boolean> => createOwnTable(database, signInTable, signInTableSql)
  const tableExists = await createTable()
  const { upsert, list } = prepareSignIns(database)
  const runTimed = createTimedRunner(database)
  const sweep = createSweep(database, {
    name: signInTable,
    expiresAt: 'ends_at',
    sweepInterval,
    graceMs,
  })
  const store: SignIns = {
    record: ({ id, subject, since, last, ends, agent, address }) =>
      after(
        runTimed(() => sweep(last)),
        () =>
          runTimed(() =>
            upsert.run(
              { id, subject, since, last, ends: toTimestamp(ends), agent, address },
              'count',
            ),
          ),
      ),
    list: (subject, now) =>
      after(
        runTimed(() => list.run({ subject, now }, 'rows')),
        (rows) => rows.map(toSignInUse),
      ),
  }
  return tableExists
    ? store
    : whenAvailable(createTable, store, { record: () => undefined, list: () => [] })
}

function prepareSignIns(database: Database): Readonly<Record<'upsert' | 'list', PreparedSql>> {
  const tables = [signInTable]
  // The same rule as `toNext` of the store in memory, for all processes.
  const isDue = `excluded.last - ${signInTable}.last >= ${recordInterval}`
  const isFirstAddress = `(${signInTable}.address is null and excluded.address is not null)`
  return {
    upsert: new PreparedSql(database, { kind: 'upsert', tables }, ({ value }) => {
      const columns = ['id', 'subject', 'since', 'last', 'ends', 'agent', 'address']
      return `insert into ${signInTable} (id, subject, since, last, ends_at, agent, address)
     values (${columns.map((column) => value(column)).join(', ')})
     on conflict (id) do update set
       last = case when ${isDue} then excluded.last else ${signInTable}.last end,
       ends_at = case when excluded.ends_at > ${signInTable}.ends_at then excluded.ends_at else ${signInTable}.ends_at end,
       agent = case when ${isDue} or ${isFirstAddress} then coalesce(excluded.agent, ${signInTable}.agent) else ${signInTable}.agent end,
       address = case when ${isDue} or ${isFirstAddress} then coalesce(excluded.address, ${signInTable}.address) else ${signInTable}.address end
     where ${signInTable}.subject = excluded.subject
       and (${isDue} or ${isFirstAddress} or excluded.ends_at > ${signInTable}.ends_at)`
    }),
    list: new PreparedSql(
      database,
      { kind: 'select', tables },
      ({ value }) => `select id, subject, since, last, ends_at, agent, address from ${signInTable}
     where subject = ${value('subject')} and ends_at > ${value('now')} order by last desc, id limit ${maxSignIns}`,
    ),
  }
}

function toSignInUse([id, subject, since, last, ends, agent, address]: Row): SignInUse {
  return {
    id: String(id),
    subject: String(subject),
    since: Number(since),
    last: Number(last),
    ends: Number(ends),
    agent: agent as string | null,
    address: address as string | null,
  }
}

const replacedTokens: ExpiringTable<Replaced> = {
  name: 'filigree_replaced_token',
  createTable: `create table if not exists filigree_replaced_token (
  token text primary key not null,
  at bigint not null,
  text text not null,
  ends_at bigint not null
);
create index if not exists filigree_replaced_token_ends_at on filigree_replaced_token (ends_at)`,
  key: 'token',
  columns: ['at', 'text'],
  expiresAt: 'ends_at',
  toColumns: ({ at, text }) => ({ at, text }),
  fromColumns: ([at, text]) => ({ at: Number(at), text: String(text) }),
  sweepInterval,
  graceMs,
}

/** @returns the store, once its table exists */
export async function createDatabaseSuccessors(database: Database): Promise<Successors> {
  return createSuccessors(await createExpiringTable(database, replacedTokens))
}

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
  toColumns: (data) => ({ data }),
  fromColumns: ([data]) => String(data),
}

/** @returns the store, after its table has been created */
export async function createDatabaseSessionStore(database: Database): Promise<SessionStore> {
  // Sessions are stored after the handler, and therefore after its transaction.
  return toSessionStore(await createExpiringTable(database, sessions))
}
