/** Revoked tokens in the database, shared by all processes that use it. Source: decisions, Tokens. */
import type { Database } from './database.js'
import { type ExpiringTable, toExpiringStore } from './expiring-table.js'
import { revokeToken, type Revocations, type TokenTrace } from '../auth/revocations.js'
import type { Clock } from '../core/time.js'
import type { Row } from '../engines/contract/engine.js'
import { after } from '../core/maybe-promise.js'
import type { OpenTransaction } from '../core/transaction.js'
import { createOwnTable, createTimedRunner, whenAvailable } from './own-tables.js'
import { PreparedSql } from './prepared-sql.js'

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
  toColumns: () => ({}),
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
    (await createOwnTable(database, revokedTokens.name, revokedTokens.createTable)) &&
    (await createOwnTable(database, revokedSubjects, createSubjects))
  const areThere = await ensure()
  const statements = prepareStatements(database)
  const among = async (
    traces: readonly TokenTrace[],
    at: number,
    found: Set<TokenTrace>,
  ): Promise<void> => {
    const values = { names: namesOf(traces.map(({ name }) => name)), now: at }
    const names = new Set((await statements.names.run(values, 'rows')).map(([name]) => name))
    const subjects = namesOf(traces.flatMap(({ subject }) => subject ?? []))
    const ends = new Map((await statements.subjects.run({ subjects }, 'rows')).map(toEnd))
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
        runTimed(() => statements.addSubject.run({ subject, second }, 'count')),
        () => undefined,
      ),
    has: ({ name, subject, signedIn }, at) =>
      after(
        runTimed(() =>
          statements.has.run({ name, now: at, subject: subject ?? '', signedIn }, 'first'),
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

function prepareStatements(database: Database): Readonly<Record<Name, PreparedSql>> {
  const tokens = revokedTokens.name
  return {
    addSubject: new PreparedSql(
      database,
      { kind: 'upsert', tables: [revokedSubjects] },
      ({
        value,
      }) => `insert into ${revokedSubjects} (subject, signed_in_until) values (${value('subject')}, ${value('second')})
       on conflict (subject) do update set signed_in_until = excluded.signed_in_until
       where ${revokedSubjects}.signed_in_until < excluded.signed_in_until`,
    ),
    has: new PreparedSql(
      database,
      { kind: 'select', tables: [tokens, revokedSubjects], maxRows: 2 },
      ({ value }) => `select 1 where
         exists (select 1 from ${tokens} where jti = ${value('name')} and expires_at > ${value('now')})
         or exists (select 1 from ${revokedSubjects}
           where subject = ${value('subject')} and signed_in_until >= ${value('signedIn')})`,
    ),
    names: new PreparedSql(
      database,
      { kind: 'select', tables: [tokens] },
      ({ value, texts }) =>
        `select jti from ${tokens} where jti in (${texts('names')}) and expires_at > ${value('now')}`,
    ),
    subjects: new PreparedSql(
      database,
      { kind: 'select', tables: [revokedSubjects] },
      ({ texts }) =>
        `select subject, signed_in_until from ${revokedSubjects} where subject in (${texts('subjects')})`,
    ),
  }
}
