/** Stores sign-ins and replaced tokens in the database, shared by all processes. Source: decisions, Tokens. */
import { maxSignIns, recordInterval, type SignIns, type SignInUse } from '../auth/sign-ins.js'
import { sweepEvery, type Replaced, type Successors } from '../auth/successors.js'
import { after, type MaybePromise } from '../core/maybe-promise.js'
import type { Row } from '../engines/contract/engine.js'
import { frameworkChange, frameworkQuery } from '../engines/contract/statement.js'
import type { Database } from './database.js'
import {
  createTimedRunner,
  ensureTable,
  whenAvailable,
  refuseWrite,
  toTimestamp,
} from './own-tables.js'

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

const replaced = 'filigree_replaced_token'
const createReplaced = `create table if not exists ${replaced} (
  token text primary key not null,
  at bigint not null,
  text text not null,
  ends_at bigint not null
);
create index if not exists ${replaced}_ends_at on ${replaced} (ends_at)`

/** Milliseconds for which an expired token is stored, because it may be valid by the clock of another process. */
const sweptAfter = 24 * 3_600_000

/**
 * Removes expired rows now and then. It runs outside a transaction, because two transactions that delete the same rows
 * block each other.
 */
function sweeper(database: Database, table: string): (now: number) => MaybePromise<unknown> {
  const sql = `delete from ${table} where ends_at <= ${database.context.dialect.placeholder(1)}`
  const statement = frameworkChange('delete', sql, { tables: [table], isFresh: true })
  let next = 0
  return (now) => {
    if (now < next || database.openTransaction() !== undefined) return undefined
    next = now + sweepEvery
    return database.context.engine.run(statement, [now - sweptAfter], 'count')
  }
}

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
  const sweep = sweeper(database, signIns)
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
  if (isThere) return store
  const current = whenAvailable(ensure, store, { record: () => undefined, list: () => [] })
  return {
    record: (use) => after(current(), (signIns) => signIns.record(use)),
    list: (subject, now) => after(current(), (signIns) => signIns.list(subject, now)),
  }
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

/** @returns the store, once its table exists */
export async function createDatabaseSuccessors(database: Database): Promise<Successors> {
  const ensure = (): Promise<boolean> => ensureTable(database, replaced, createReplaced)
  const isThere = await ensure()
  const { placeholder: p } = database.context.dialect
  const facts = { tables: [replaced], isFresh: true } as const
  const find = frameworkQuery(`select at, text from ${replaced} where token = ${p(1)}`, {
    ...facts,
    together: 'calls',
    bound: 1,
  })
  // The update changes nothing. It makes the statement return the existing row, also to the later of two callers.
  const add = frameworkChange(
    'upsert',
    `insert into ${replaced} (token, at, text, ends_at) values (${p(1)}, ${p(2)}, ${p(3)}, ${p(4)})
     on conflict (token) do update set token = excluded.token returning at, text`,
    facts,
  )
  const runTimed = createTimedRunner(database)
  const sweep = sweeper(database, replaced)
  const store: Successors = {
    find: (token) =>
      after(
        runTimed(() => database.runner().run(find, [token], 'first')),
        (row) => (row === undefined ? undefined : toReplaced(row)),
      ),
    add: (token, text, { at, until }) =>
      after(
        runTimed(() => sweep(at)),
        () =>
          after(
            runTimed(() =>
              database.runner().run(add, [token, at, text, toTimestamp(until)], 'rows'),
            ),
            ([row]) => (row === undefined ? { at, text } : toReplaced(row)),
          ),
      ),
  }
  if (isThere) return store
  const current = whenAvailable(ensure, store, { find: () => undefined, add: refuseWrite })
  return {
    find: (token) => after(current(), (signIns) => signIns.find(token)),
    add: (token, text, times) => after(current(), (signIns) => signIns.add(token, text, times)),
  }
}

function toReplaced([at, text]: Row): Replaced {
  return { at: Number(at), text: String(text) }
}
