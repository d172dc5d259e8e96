/** The tables of idempotency keys and of the processes that hold them, and their statements. */
import type { CustomSql, CustomSqlOptions, Database, SqlFragments } from '../../index.js'

const keys = 'filigree_idempotency'
const processes = 'filigree_idempotency_process'

const createKeys = `create table if not exists ${keys} (
  id text primary key not null,
  caller text not null,
  hash text not null,
  claim text not null,
  process text not null,
  answer text,
  bytes bigint not null,
  expires_at bigint not null
);
create index if not exists ${keys}_expires_at on ${keys} (expires_at);
create index if not exists ${keys}_caller on ${keys} (caller, expires_at, bytes)`
const createProcesses = `create table if not exists ${processes} (
  id text primary key not null,
  alive_until bigint not null,
  challenged_at bigint
)`

/** The columns that a claim sets, and their parameters. */
const columns = ['id', 'caller', 'hash', 'claim', 'process'] as const

export async function createKeyTables(database: Database): Promise<void> {
  await database.ensureTable(keys, createKeys)
  await database.ensureTable(processes, createProcesses)
}

export type KeyStatements = ReturnType<typeof prepareKeyStatements>
export type ProcessStatements = ReturnType<typeof prepareProcessStatements>

/** Times are milliseconds since 1970. Writes with a `claim` do nothing once another request has claimed the key. */
export function prepareKeyStatements(database: Database) {
  const tables = [keys]
  const prepare = (
    kind: CustomSqlOptions['kind'],
    write: (value: SqlFragments['value']) => string,
  ): CustomSql => database.prepare({ kind, tables }, ({ value }) => write(value))
  const isClaimed = (value: SqlFragments['value']): string =>
    `id = ${value('id')} and claim = ${value('claim')}`
  return {
    claim: database.prepare({ kind: 'upsert', tables: [keys, processes] }, writeClaim),
    // The insert waits for a statement of the same claim that is being committed, which a `delete` would not see.
    withdraw: prepare(
      'upsert',
      (value) => `insert into ${keys} (${columns.join(', ')}, expires_at, answer, bytes)
values (${columns.map((column) => value(column)).join(', ')}, ${value('now')}, null, 0)
on conflict (id) do update set expires_at = excluded.expires_at
where ${keys}.claim = excluded.claim and ${keys}.answer is null`,
    ),
    /** Returns the hash, the answer and the process. */
    read: prepare(
      'select',
      (value) => `select hash, answer, process from ${keys} where id = ${value('id')}`,
    ),
    has: prepare(
      'select',
      (value) => `select 1 from ${keys} where id = ${value('id')} and expires_at > ${value('now')}`,
    ),
    /** Returns the number of keys, their bytes, and when the first one expires. */
    readStored: prepare(
      'select',
      (value) => `select count(*), sum(bytes), min(expires_at) from ${keys}
where caller = ${value('caller')} and expires_at > ${value('now')}`,
    ),
    mark: prepare(
      'update',
      (value) =>
        `update ${keys} set answer = ${value('answer')}, expires_at = ${value('expires')} where ${isClaimed(value)}`,
    ),
    store: prepare(
      'update',
      (value) => `update ${keys}
set answer = ${value('answer')}, bytes = ${value('bytes')}, expires_at = ${value('expires')}
where ${isClaimed(value)}`,
    ),
    delete: prepare('delete', (value) => `delete from ${keys} where ${isClaimed(value)}`),
    deleteUnwritten: prepare(
      'delete',
      (value) => `delete from ${keys} where ${isClaimed(value)} and answer is null`,
    ),
    sweep: prepare('delete', (value) => `delete from ${keys} where expires_at <= ${value('now')}`),
  }
}

export function prepareProcessStatements(database: Database) {
  const tables = [processes]
  return {
    /** For a process whose lease has expired. */
    challenge: database.prepare(
      { kind: 'update', tables },
      ({ value }) => `update ${processes} set challenged_at = ${value('now')}
where id = ${value('id')} and alive_until <= ${value('now')} and challenged_at is null`,
    ),
    renewLease: database.prepare(
      { kind: 'upsert', tables },
      ({ value }) => `insert into ${processes} (id, alive_until, challenged_at)
values (${value('id')}, ${value('aliveUntil')}, null)
on conflict (id) do update set alive_until = excluded.alive_until, challenged_at = null`,
    ),
    // Rows of processes that hold keys are needed to decide when the keys can be claimed.
    sweep: database.prepare(
      { kind: 'delete', tables: [processes, keys] },
      ({
        value,
      }) => `delete from ${processes} where alive_until <= ${value('until')} and not exists (
  select 1 from ${keys} where ${keys}.process = ${processes}.id and ${keys}.answer is null)`,
    ),
  }
}

/** Claims a key that is new, that has expired, or whose process has stopped without writing. */
function writeClaim({ value }: SqlFragments): string {
  return `insert into ${keys} (${columns.join(', ')}, expires_at, answer, bytes)
values (${columns.map((column) => value(column)).join(', ')}, ${value('expires')}, null, 0)
on conflict (id) do update set caller = excluded.caller, hash = excluded.hash, claim = excluded.claim,
  process = excluded.process, answer = null, bytes = 0, expires_at = excluded.expires_at
where ${keys}.claim <> excluded.claim and (${keys}.expires_at <= ${value('now')} or (${keys}.answer is null and not exists (
  select 1 from ${processes} where ${processes}.id = ${keys}.process
    and (alive_until > ${value('now')} or challenged_at is null or challenged_at > ${value('challengeUntil')}))))
returning id`
}
