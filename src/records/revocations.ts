/**
 * Revoked tokens in the database, shared by all processes that use it. Source: decisions, Tokens.
 */
import type { Revocations, TokenTrace } from '../auth/revocations.js'
import type { Clock } from '../core/clock.js'
import type { Database } from './database.js'
import type { Dialect } from '../engines/contract/dialect.js'
import type { Row, Statement } from '../engines/contract/engine.js'
import { frameworkQuery, frameworkChange } from '../engines/contract/statement.js'
import { after, type MaybePromise } from '../core/maybe-promise.js'
import type { OpenTransaction } from '../core/transaction.js'
import {
  createTimedRunner,
  ensureTable,
  whenAvailable,
  refuseWrite,
  toTimestamp,
} from './own-tables.js'

export interface DatabaseRevocationsOptions {
  /** Milliseconds until this process refuses a token that another process has revoked. Default 5,000. */
  readonly trustFor?: number
  /** A test's clock, whose offset is added to the database's time. */
  readonly clock?: Clock
}

/** Milliseconds for which an expired token is stored, because it may be valid by the clock of another process. */
const sweptAfter = 24 * 3_600_000

/** The maximum number of tokens in one query. */
const maxTraces = 1000

/** @returns the store, after its tables have been created */
export async function createDatabaseRevocations(
  database: Database,
  { trustFor = 5000, clock }: DatabaseRevocationsOptions = {},
): Promise<Revocations> {
  const ensure = async (): Promise<boolean> =>
    (await ensureTable(database, 'filigree_revocation', createTokens)) &&
    (await ensureTable(database, 'filigree_revoked_subject', createSubjects))
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
  // Runs outside a transaction, because two transactions that delete the same rows block each other.
  const sweep = (): MaybePromise<unknown> =>
    openTransaction() === undefined
      ? runTimed(() => database.context.engine.run(statements.sweep, [now() - sweptAfter], 'count'))
      : undefined
  const revocations: Revocations = {
    trustFor,
    openTransaction,
    add: (name, until) =>
      after(sweep(), () => {
        const end = toTimestamp(until)
        return after(
          runTimed(() => database.runner().run(statements.add, [name, end], 'count')),
          (added): MaybePromise<boolean> => {
            if (added > 0) return true
            const extend = () => database.runner().run(statements.extend, [end, name, end], 'count')
            return after(runTimed(extend), () => false)
          },
        )
      }),
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
        ...deferred(whenAvailable(ensure, revocations, noneRevoked), trustFor),
        openTransaction,
        now,
      }
}

function deferred(current: () => MaybePromise<Revocations>, trustFor: number): Revocations {
  return {
    trustFor,
    add: (name, until) => after(current(), (store) => store.add(name, until)),
    addSubject: (subject, second) => after(current(), (store) => store.addSubject(subject, second)),
    has: (trace, at) => after(current(), (store) => store.has(trace, at)),
    among: async (traces, at) => (await current()).among(traces, at),
  }
}

/** The store for a replica that has no table of revocations yet. */
const noneRevoked: Revocations = {
  add: refuseWrite,
  addSubject: refuseWrite,
  has: () => false,
  among: () => Promise.resolve(new Set()),
}

function namesOf(names: readonly string[]): string {
  return JSON.stringify([...new Set(names)])
}

function toEnd([subject, until]: Row): [unknown, number] {
  return [subject, Number(until)]
}

const createTokens = `create table if not exists filigree_revocation (
  jti text primary key not null,
  expires_at bigint not null
)`

const createSubjects = `create table if not exists filigree_revoked_subject (
  subject text primary key not null,
  signed_in_until bigint not null
)`

type Name = 'add' | 'extend' | 'addSubject' | 'has' | 'names' | 'subjects' | 'sweep'

function writeStatements({ placeholder: p, textsOf }: Dialect): Readonly<Record<Name, Statement>> {
  const list = textsOf(1)
  const [tokens, subjects] = ['filigree_revocation', 'filigree_revoked_subject'] as const
  const query = (sql: string, tables: string[], facts: Partial<Statement> = {}): Statement =>
    frameworkQuery(sql, { tables, isFresh: true, ...facts })
  const change = (kind: 'insert' | 'upsert' | 'update' | 'delete', sql: string, table: string) =>
    frameworkChange(kind, sql, { tables: [table], isFresh: true })
  return {
    add: change(
      'insert',
      `insert into filigree_revocation (jti, expires_at) values (${p(1)}, ${p(2)})
       on conflict (jti) do nothing`,
      tokens,
    ),
    // A shorter revocation does not shorten a longer one.
    extend: change(
      'update',
      `update filigree_revocation set expires_at = ${p(1)}
       where jti = ${p(2)} and expires_at < ${p(3)}`,
      tokens,
    ),
    addSubject: change(
      'upsert',
      `insert into filigree_revoked_subject (subject, signed_in_until) values (${p(1)}, ${p(2)})
       on conflict (subject) do update set signed_in_until = excluded.signed_in_until
       where filigree_revoked_subject.signed_in_until < excluded.signed_in_until`,
      subjects,
    ),
    has: query(
      `select 1 where
         exists (select 1 from filigree_revocation where jti = ${p(1)} and expires_at > ${p(2)})
         or exists (select 1 from filigree_revoked_subject
           where subject = ${p(3)} and signed_in_until >= ${p(4)})`,
      [tokens, subjects],
      { together: 'calls', bound: 2 },
    ),
    names: query(
      `select jti from filigree_revocation where jti in (${list}) and expires_at > ${p(2)}`,
      [tokens],
    ),
    subjects: query(
      `select subject, signed_in_until from filigree_revoked_subject where subject in (${list})`,
      [subjects],
    ),
    sweep: change('delete', `delete from filigree_revocation where expires_at <= ${p(1)}`, tokens),
  }
}
