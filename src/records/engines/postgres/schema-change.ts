/**
 * Changes of the schema: by one process at a time, on a connection of their own. The lock ends with the transaction that
 * took it, so that neither a pooler nor a killed process can leave it behind; statements that no transaction may hold run
 * beside that transaction on a second connection. Who waits for a table lets its readers pass from time to time: behind a
 * waiting ALTER all of them would wait too.
 * Sources: PostgreSQL, Advisory Locks; Explicit Locking; lock_timeout.
 */
import { setTimeout } from 'node:timers/promises'
import { DeclarationError } from '../../../errors/declaration-error.js'
import { EngineFault, type QueryResult, type Row, type Runner, type Statement } from '../engine.js'
import {
  Connection,
  toQueryResult,
  type Driver,
  type PostgresOptions,
  type SingleClient,
} from './connection.js'
import { isLockTimeout } from './faults.js'
import { endSession, openSession, type Session } from './session.js'
import { StatementNames } from './statement-names.js'

export type SchemaWork<T> = (runner: Runner) => Promise<T>

/** Any number that is ours alone: who changes the schema holds it. */
const schemaLock = 4_163_170_431
/** Milliseconds for others and for a table's readers; the whole wait by default. */
const [lockTimeout, defaultPatience] = [2000, 60_000]
/** Milliseconds until a wait is told for the first time, and after that each time. */
const [firstWord, nextWord] = [1000, 10_000]
const applicationName = 'filigree schema'

/**
 * @param atomic all or nothing; false commits each statement by itself
 * @throws {DeclarationError} `SCHEMA_LOCKED` when others are in the way for too long
 */
export async function changePostgresSchema<T>(
  driver: Driver,
  options: PostgresOptions,
  work: SchemaWork<T>,
  atomic: boolean,
): Promise<T> {
  const patience = new Patience(options)
  for (;;) {
    const session = await openSession(driver, options, { applicationName })
    try {
      await begin(session.client, patience)
      const result = await (atomic
        ? work(new SessionRunner(session.client))
        : beside(session, await openSession(driver, options, { applicationName }), work, patience))
      await connectionOf(session.client).script('commit')
      return result
    } catch (error) {
      if (!atomic || !isLockTimeout(error)) throw error
      await patience.pause('a table is in use by others', error)
    } finally {
      endSession(session.client)
    }
  }
}

/** Opens the transaction that holds the lock. */
async function begin(client: SingleClient, patience: Patience): Promise<void> {
  const connection = connectionOf(client)
  // Who changes the schema has to see what others have done while it waited.
  await connection.script(
    `begin isolation level read committed; set local statement_timeout = 0;
     set local idle_in_transaction_session_timeout = 0; set local lock_timeout = ${patience.lockTimeout}`,
  )
  const take = { sql: `select pg_try_advisory_xact_lock(${schemaLock})`, writes: true }
  // It asks again and again: who waits in a statement is waited for by `create index concurrently`.
  for (;;) {
    const [row] = (await connection.run(take, [], false)).rows
    if (row?.[0] === true) return
    await patience.wait(async () => (await connection.run(holders, [], false)).rows)
  }
}

const holders: Statement = {
  sql: `select l.pid, a.application_name from pg_locks l left join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.classid = 0 and l.objid = ${schemaLock} and l.objsubid = 1 and l.granted`,
  writes: false,
}

/** Runs work whose statements are committed one by one, while the first session's transaction holds the lock. */
async function beside<T>(
  lock: Session,
  session: Session,
  work: SchemaWork<T>,
  patience: Patience,
): Promise<T> {
  let isLost = false
  lock.client.on('end', () => {
    isLost = true
  })
  const { client, isPooled } = session
  try {
    // Through a pooler the settings would be others' too.
    if (!isPooled) await client.query('set statement_timeout = 0')
    return await work(
      new SessionRunner(client, async (sql) => {
        if (isLost) throw new EngineFault('unavailable', 'The lock of the schema was lost.')
        if (isPooled) await connectionOf(client).script(sql)
        else await scriptWithPatience(client, sql, patience)
      }),
    )
  } finally {
    endSession(client)
  }
}

/** An index that is made concurrently holds nobody up, and is left invalid when it is cut. */
async function scriptWithPatience(
  client: SingleClient,
  sql: string,
  patience: Patience,
): Promise<void> {
  const connection = connectionOf(client)
  const limit = /\bconcurrently\b/i.test(sql) ? 0 : patience.lockTimeout
  await connection.script(`set lock_timeout = ${limit}`)
  for (;;) {
    try {
      await connection.script(sql)
      return
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      await patience.pause('a table is in use by others', error)
    }
  }
}

/** How long others are waited for, in words in the log. */
class Patience {
  readonly lockTimeout: number
  readonly #options: PostgresOptions
  readonly #patience: number
  readonly #began = performance.now()
  #told = firstWord - nextWord
  #pauses = 0

  constructor(options: PostgresOptions) {
    this.#options = options
    this.#patience = options.schemaTimeout ?? defaultPatience
    this.lockTimeout = Math.max(1, Math.min(lockTimeout, this.#patience))
  }

  /** A moment until the lock is asked for again. */
  async wait(readHolders: () => Promise<readonly Row[]>): Promise<void> {
    const waited = performance.now() - this.#began
    const isOver = waited >= this.#patience
    if (isOver || waited >= this.#told + nextWord) {
      const who = (await readHolders())
        .map(([pid, name]) => `process ${String(pid)} of the server (${String(name)})`)
        .join(', ')
      if (isOver) throw locked(`held by ${who || 'another process'}`, this.#patience)
      this.#tell(waited, `another process changes the schema: ${who}`)
    }
    await setTimeout(50)
  }

  /** After a table could not be had: its readers go first. */
  async pause(why: string, error: unknown): Promise<void> {
    const waited = performance.now() - this.#began
    if (waited >= this.#patience) throw locked(why, this.#patience, error)
    this.#tell(waited, why)
    await setTimeout(Math.min(100 * 2 ** this.#pauses++, 2000))
  }

  #tell(waited: number, why: string): void {
    this.#told = waited
    this.#options.log.warn({ waited: Math.round(waited) }, `waiting to change the schema: ${why}`)
  }
}

function locked(why: string, patience: number, cause?: unknown): DeclarationError {
  const error = new DeclarationError([
    {
      code: 'SCHEMA_LOCKED',
      message: `The schema could not be changed for ${patience} ms: ${why}.`,
      remedy:
        'Wait for the other process, or end it by pg_terminate_backend. schemaTimeout in the address sets the wait.',
    },
  ])
  error.cause = cause
  return error
}

function connectionOf(client: SingleClient): Connection {
  return new Connection(client, unprepared)
}

/** What runs once needs no name. */
const unprepared = new StatementNames(true)

class SessionRunner implements Runner {
  readonly #connection: Connection
  readonly #script: (sql: string) => Promise<void>

  constructor(client: SingleClient, script?: (sql: string) => Promise<void>) {
    this.#connection = connectionOf(client)
    this.#script = script ?? ((sql) => this.#connection.script(sql))
  }

  async rows(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return (await this.#connection.run(statement, values, false)).rows
  }

  async first(statement: Statement, values: readonly unknown[]): Promise<Row | undefined> {
    return (await this.#connection.run(statement, values, false)).rows[0]
  }

  async change(statement: Statement, values: readonly unknown[]): Promise<number> {
    return (await this.#connection.run(statement, values, false)).rowCount ?? 0
  }

  async query(statement: Statement, values: readonly unknown[]): Promise<QueryResult> {
    return toQueryResult(await this.#connection.run(statement, values, false))
  }

  script(sql: string): Promise<void> {
    return this.#script(sql)
  }
}
