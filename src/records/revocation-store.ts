/** Revoked tokens in the database, shared by all processes that use it. Source: decisions, Tokens. */
import type { Database } from './database.js'
import { type ExpiringTable, toExpiringStore } from './expiring-table.js'
import { revokeToken, type Revocations, type TokenTrace } from '../auth/revocations.js'
import type { Clock } from '../core/time.js'
import type { Dialect } from '../engines/contract/dialect.js'
import type { Row, Statement } from '../engines/contract/engine.js'
import {
  briefFrameworkQuery,
  frameworkQuery,
  frameworkChange,
} from '../engines/contract/statement.js'
import { after } from '../core/maybe-promise.js'
import type { OpenTransaction } from '../core/transaction.js'
import { createOwnTable, createTimedRunner, whenAvailable } from './own-tables.js'

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
    (await createOwnTable(database, revokedTokens.name, revokedTokens.createTable)) &&
    (await createOwnTable(database, revokedSubjects, createSubjects))
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

function writeStatements({ statements, lists }: Dialect): Readonly<Record<Name, Statement>> {
  const { placeholder: p } = statements
  const list = lists.texts(1)
  const tokens = revokedTokens.name
  const query = (sql: string, tables: string[]): Statement =>
    frameworkQuery(sql, { tables, isFresh: true })
  return {
    addSubject: frameworkChange(
      'upsert',
      `insert into ${revokedSubjects} (subject, signed_in_until) values (${p(1)}, ${p(2)})
       on conflict (subject) do update set signed_in_until = excluded.signed_in_until
       where ${revokedSubjects}.signed_in_until < excluded.signed_in_until`,
      { tables: [revokedSubjects], isFresh: true },
    ),
    has: briefFrameworkQuery(
      (value) => `select 1 where
         exists (select 1 from ${tokens} where jti = ${value(1)} and expires_at > ${value(2)})
         or exists (select 1 from ${revokedSubjects}
           where subject = ${value(3)} and signed_in_until >= ${value(4)})`,
      p,
      { tables: [tokens, revokedSubjects], isFresh: true, bound: 2 },
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
