/**
 * Stores sessions, sign-ins, replaced and revoked tokens in the database, shared by all processes. Source: decisions,
 * Sessions and Tokens.
 */

import { toSessionStore, type SessionStore } from '../auth/sessions.js'
import type { Database } from './database.js'
import {
  createExpiringTable,
  type ExpiringTable,
  toExpiringStore,
  createSweep,
} from './expiring-table.js'
import { refuseUnavailable } from './statements/client-errors.js'
import { revokeToken, type Revocations, type TokenTrace } from '../auth/revocations.js'
import type { Clock } from '../core/time.js'
import type { Dialect } from '../engines/contract/dialect.js'
import type { Row, Statement } from '../engines/contract/engine.js'
import { frameworkQuery, frameworkChange } from '../engines/contract/statement.js'
import { after } from '../core/maybe-promise.js'
import type { OpenTransaction } from '../core/transaction.js'
import { createTimedRunner, ensureTable, whenAvailable, toTimestamp } from './own-tables.js'
import { maxSignIns, recordInterval, type SignIns, type SignInUse } from '../auth/sign-ins.js'
import {
  createSuccessors,
  sweepInterval,
  type Replaced,
  type Successors,
} from '../auth/successors.js'

const signIns = 'filigree_sign_in'
const createSignIns = `create table if not exists ${signIns} (
  id text primary key not null,
  subject text not null,
  since bigint not null,
  last bigint not null,
  ends_at bigint not null,
  agent text,
  address text
);
create index if not exists ${signIns}_subject on ${signIns} (subject, ends_at);
create index if not exists ${signIns}_ends_at on ${signIns} (ends_at)`

/** Milliseconds for which an expired token is stored, because it may be valid by the clock of another process. */
const graceMs = 24 * 3_600_000

/** @returns the store, once its table exists */
export async function createDatabaseSignIns(database: Database): Promise<SignIns> {
  const ensure = (): Promise<boolean> => ensureTable(database, signIns, createSignIns)
  const isThere = await ensure()
  const { placeholder: p } = database.context.dialect
  const facts = { tables: [signIns], isFresh: true } as const
  // The same rule as `toNext` of the store in memory, for all processes.
  const isDue = `excluded.last - ${signIns}.last >= ${recordInterval}`
  const isUnused = `(${signIns}.address is null and excluded.address is not null)`
  const upsert = frameworkChange(
    'upsert',
    `insert into ${signIns} (id, subject, since, last, ends_at, agent, address)
     values (${[1, 2, 3, 4, 5, 6, 7].map((index) => p(index)).join(', ')})
     on conflict (id) do update set
       last = case when ${isDue} then excluded.last else ${signIns}.last end,
       ends_at = case when excluded.ends_at > ${signIns}.ends_at then excluded.ends_at else ${signIns}.ends_at end,
       agent = case when ${isDue} or ${isUnused} then coalesce(excluded.agent, ${signIns}.agent) else ${signIns}.agent end,
       address = case when ${isDue} or ${isUnused} then coalesce(excluded.address, ${signIns}.address) else ${signIns}.address end
     where ${signIns}.subject = excluded.subject
       and (${isDue} or ${isUnused} or excluded.ends_at > ${signIns}.ends_at)`,
    facts,
  )
  const list = frameworkQuery(
    `select id, subject, since, last, ends_at, agent, address from ${signIns}
     where subject = ${p(1)} and ends_at > ${p(2)} order by last desc, id limit ${maxSignIns}`,
    facts,
  )
  const runTimed = createTimedRunner(database)
  const sweep = createSweep(database, {
    name: signIns,
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
            database
              .runner()
              .run(upsert, [id, subject, since, last, toTimestamp(ends), agent, address], 'count'),
          ),
      ),
    list: (subject, now) =>
      after(
        runTimed(() => database.runner().run(list, [subject, now], 'rows')),
        (rows) => rows.map(toUse),
      ),
  }
  return isThere ? store : whenAvailable(ensure, store, { record: () => undefined, list: () => [] })
}

function toUse([id, subject, since, last, ends, agent, address]: Row): SignInUse {
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
  toColumns: ({ at, text }) => [at, text],
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
  toColumns: (data) => [data],
  fromColumns: ([data]) => String(data),
  refuse: refuseUnavailable,
}

/** @returns the store, after its table has been created */
export async function createDatabaseSessionStore(database: Database): Promise<SessionStore> {
  // Sessions are stored after the handler, and therefore after its transaction.
  return toSessionStore(await createExpiringTable(database, sessions))
}

/**
 * Revoked tokens in the database, shared by all processes that use it. Source: decisions, Tokens.
 */

interface DatabaseRevocationsOptions {
  /** Milliseconds until this process refuses a token that another process has revoked. Default 5,000. */
  readonly trustFor?: number
  /** A test's clock, whose offset is added to the database's time. */
  readonly clock?: Clock
}

const revokedTokens: ExpiringTable<true> = {
  name: 'filigree_revocation',
  createTable: `create table if not exists filigree_revocation (
  jti text primary key not null,
  expires_at bigint not null
)`,
  key: 'jti',
  columns: [],
  expiresAt: 'expires_at',
  toColumns: () => [],
  fromColumns: () => true,
  // A token that has expired here may still be valid by the clock of another process.
  graceMs: 24 * 3_600_000,
}

const revokedSubjects = 'filigree_revoked_subject'
const createSubjects = `create table if not exists ${revokedSubjects} (
  subject text primary key not null,
  signed_in_until bigint not null
)`

/** The maximum number of tokens in one query. */
const maxTraces = 1000

/** @returns the store, after its tables have been created */
export async function createDatabaseRevocations(
  database: Database,
  { trustFor = 5000, clock }: DatabaseRevocationsOptions = {},
): Promise<Revocations> {
  const ensure = async (): Promise<boolean> =>
    (await ensureTable(database, revokedTokens.name, revokedTokens.createTable)) &&
    (await ensureTable(database, revokedSubjects, createSubjects))
  const areThere = await ensure()
  const { dialect } = database.context
  const statements = writeStatements(dialect)
  const among = async (
    traces: readonly TokenTrace[],
    at: number,
    found: Set<TokenTrace>,
  ): Promise<void> => {
    const parameters = [namesOf(traces.map(({ name }) => name)), at]
    const names = new Set(
      (await database.runner().run(statements.names, parameters, 'rows')).map(([name]) => name),
    )
    const subjects = namesOf(traces.flatMap(({ subject }) => subject ?? []))
    const ends = new Map(
      (await database.runner().run(statements.subjects, [subjects], 'rows')).map(toEnd),
    )
    for (const trace of traces) {
      const until = ends.get(trace.subject)
      const isEnded = until !== undefined && trace.signedIn <= until
      if (names.has(trace.name) || isEnded) found.add(trace)
    }
  }
  const runTimed = createTimedRunner(database)
  const now = (): number => database.now(clock)
  const openTransaction = (): OpenTransaction | undefined => database.openTransaction()
  const tokens = toExpiringStore(database, revokedTokens)
  const revocations: Revocations = {
    trustFor,
    openTransaction,
    add: (name, until) => revokeToken(tokens, { name, until, now: now() }),
    addSubject: (subject, second) =>
      after(
        runTimed(() => database.runner().run(statements.addSubject, [subject, second], 'count')),
        () => undefined,
      ),
    has: ({ name, subject, signedIn }, at) =>
      after(
        runTimed(() =>
          database.runner().run(statements.has, [name, at, subject ?? '', signedIn], 'first'),
        ),
        (row) => row !== undefined,
      ),
    now,
    among: async (traces, at) => {
      const found = new Set<TokenTrace>()
      for (let index = 0; index < traces.length; index += maxTraces) {
        await among(traces.slice(index, index + maxTraces), at, found)
      }
      return found
    },
  }
  return areThere
    ? revocations
    : {
        ...whenAvailable(ensure, revocations, {
          has: () => false,
          among: () => Promise.resolve(new Set()),
        }),
        trustFor,
        openTransaction,
        now,
      }
}

function namesOf(names: readonly string[]): string {
  return JSON.stringify([...new Set(names)])
}

function toEnd([subject, until]: Row): [unknown, number] {
  return [subject, Number(until)]
}

type Name = 'addSubject' | 'has' | 'names' | 'subjects'

function writeStatements({ placeholder: p, textsOf }: Dialect): Readonly<Record<Name, Statement>> {
  const list = textsOf(1)
  const tokens = revokedTokens.name
  const query = (sql: string, tables: string[], properties: Partial<Statement> = {}): Statement =>
    frameworkQuery(sql, { tables, isFresh: true, ...properties })
  return {
    addSubject: frameworkChange(
      'upsert',
      `insert into ${revokedSubjects} (subject, signed_in_until) values (${p(1)}, ${p(2)})
       on conflict (subject) do update set signed_in_until = excluded.signed_in_until
       where ${revokedSubjects}.signed_in_until < excluded.signed_in_until`,
      { tables: [revokedSubjects], isFresh: true },
    ),
    has: query(
      `select 1 where
         exists (select 1 from ${tokens} where jti = ${p(1)} and expires_at > ${p(2)})
         or exists (select 1 from ${revokedSubjects}
           where subject = ${p(3)} and signed_in_until >= ${p(4)})`,
      [tokens, revokedSubjects],
      { together: 'calls', bound: 2 },
    ),
    names: query(`select jti from ${tokens} where jti in (${list}) and expires_at > ${p(2)}`, [
      tokens,
    ]),
    subjects: query(
      `select subject, signed_in_until from ${revokedSubjects} where subject in (${list})`,
      [revokedSubjects],
    ),
  }
}
