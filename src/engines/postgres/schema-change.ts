/**
 * Changes the schema, in one process at a time, on a separate connection. The lock ends with the transaction that acquired
 * it, so that neither a pooler nor a killed process can leave it behind. Statements that cannot run in a transaction use a
 * second connection in the meantime. A statement that waits for a table is interrupted regularly, because all readers wait
 * behind a waiting ALTER. Sources: PostgreSQL, Advisory Locks; Explicit Locking; lock_timeout.
 */
import { setTimeout } from 'node:timers/promises'
import { DeclarationError } from '../../errors/declaration-error.js'
import type { Results, Runner, Statement, Values, ResultKind } from '../contract/engine.js'
import { EngineError } from '../contract/engine-error.js'
import type { Client, Driver } from './driver.js'
import { isLockTimeout } from './errors.js'
import type { PostgresOptions } from './options.js'
import { endSession, openSession, runOn, scriptOn, type Session } from './session.js'

export type SchemaWork<T> = (runner: Runner) => Promise<T>

/** An arbitrary number: the lock of the process that changes the schema. */
const schemaLock = 4_163_170_431
/** Milliseconds to wait for a table without interruption, and the default in total. */
const [lockTimeout, defaultTimeout] = [2000, 60_000]
/** Milliseconds until a wait is first logged, and between later lines. */
const [firstLogAfter, logInterval] = [1000, 10_000]
const applicationName = 'filigree schema'

/**
 * @param atomic false commits each statement separately
 * @throws {DeclarationError} `SCHEMA_LOCKED` if other processes hold locks for too long
 */
export async function changePostgresSchema<T>(
  driver: Driver,
  options: PostgresOptions,
  work: SchemaWork<T>,
  atomic: boolean,
): Promise<T> {
  const lockWait = new LockWait(options)
  const lock = options.locks === 'row' ? rowLock : advisoryLock
  for (;;) {
    const session = await openSession(driver, options, { applicationName })
    try {
      await begin(session.client, lockWait, lock)
      const result = await (atomic
        ? work(new SessionRunner(session.client))
        : runOutsideTransaction(
            session,
            await openSession(driver, options, { applicationName }),
            work,
            lockWait,
          ))
      await scriptOn(session.client, 'commit')
      return result
    } catch (error) {
      if (!atomic || !isLockTimeout(error)) throw error
      await lockWait.waitForTable('a table is in use by others', error)
    } finally {
      endSession(session.client)
    }
  }
}

/** A lock that only one transaction has at a time. */
interface Lock {
  /** Creates the lock's table if it does not exist. */
  readonly prepare?: (client: Client) => Promise<void>
  /** A query that returns true if this transaction has acquired the lock. It does not wait. */
  readonly take: string
  /** A query for the processes that have it. */
  readonly holders?: string
}

/** Locks with this number in other databases of the server are ignored. */
const advisoryLock: Lock = {
  take: `select pg_try_advisory_xact_lock(${schemaLock})`,
  holders: `select l.pid, a.application_name from pg_locks l left join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.classid = 0 and l.objid = ${schemaLock} and l.objsubid = 1 and l.granted
      and l.database = (select oid from pg_database where datname = current_database())`,
}

/** For servers without advisory locks: the only row of a table. */
const rowLock: Lock = {
  take: 'select true from filigree_schema_lock for update skip locked',
  prepare: async (client) => {
    const make = `create table if not exists filigree_schema_lock (place integer primary key);
      insert into filigree_schema_lock values (1) on conflict do nothing`
    // Two processes that create it at the same time conflict; at the second attempt it exists.
    await scriptOn(client, make).catch(() => scriptOn(client, make))
  },
}

/** Begins the transaction that acquires the lock. */
async function begin(client: Client, lockWait: LockWait, lock: Lock): Promise<void> {
  await lock.prepare?.(client)
  // The process must see the changes of other processes during the wait.
  await scriptOn(
    client,
    `begin isolation level read committed; set local statement_timeout = 0;
     set local idle_in_transaction_session_timeout = 0; set local lock_timeout = ${lockWait.lockTimeout}`,
  )
  // It tries repeatedly: `create index concurrently` waits for statements that wait for a lock.
  for (;;) {
    const [row] = (await runOn(client, lock.take, [])).rows
    if (row?.[0] === true) return
    await lockWait.waitForLock(async () => {
      if (lock.holders === undefined) return ''
      const { rows } = await runOn(client, lock.holders, [])
      return rows
        .map(([pid, name]) => `process ${String(pid)} of the server (${String(name)})`)
        .join(', ')
    })
  }
}

/** Runs work whose statements are committed one by one, while the first session's transaction has the lock. */
async function runOutsideTransaction<T>(
  lock: Session,
  session: Session,
  work: SchemaWork<T>,
  lockWait: LockWait,
): Promise<T> {
  let isLost = false
  lock.client.on('end', () => {
    isLost = true
  })
  const { client, isPooled } = session
  try {
    // Behind a pooler the setting would affect other clients.
    if (!isPooled) await client.query('set statement_timeout = 0')
    return await work(
      new SessionRunner(client, async ({ sql, ignoresLockTimeout }) => {
        if (isLost) throw new EngineError('unavailable', 'The lock of the schema was lost.')
        if (isPooled) await scriptOn(client, sql)
        else
          await scriptWithRetries(
            client,
            sql,
            ignoresLockTimeout ? 0 : lockWait.lockTimeout,
            lockWait,
          )
      }),
    )
  } finally {
    endSession(client)
  }
}

/**
 * Repeats a script after lock timeouts. An interrupted `create index concurrently` leaves an invalid index, which blocks
 * nothing.
 *
 * @param limit milliseconds to wait for a lock; 0 means no limit
 */
async function scriptWithRetries(
  client: Client,
  sql: string,
  limit: number,
  lockWait: LockWait,
): Promise<void> {
  await scriptOn(client, `set lock_timeout = ${limit}`)
  for (;;) {
    try {
      await scriptOn(client, sql)
      return
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      await lockWait.waitForTable('a table is in use by others', error)
    }
  }
}

/** The time to wait for other processes, and the lines in the log. */
class LockWait {
  readonly lockTimeout: number
  readonly #options: PostgresOptions
  readonly #timeout: number
  readonly #startedAt = performance.now()
  #loggedAt = firstLogAfter - logInterval
  #pauses = 0

  constructor(options: PostgresOptions) {
    this.#options = options
    this.#timeout = options.schemaTimeout ?? defaultTimeout
    this.lockTimeout = Math.max(1, Math.min(lockTimeout, this.#timeout))
  }

  /** Pauses before the next attempt to acquire the lock. */
  async waitForLock(readHolders: () => Promise<string>): Promise<void> {
    const waited = performance.now() - this.#startedAt
    const isOver = waited >= this.#timeout
    if (isOver || waited >= this.#loggedAt + logInterval) {
      const holders = await readHolders()
      if (isOver) throw schemaLockedError(`held by ${holders || 'another process'}`, this.#timeout)
      const description = holders || 'the server does not say which'
      this.#log(waited, `another process changes the schema: ${description}`)
    }
    await setTimeout(50)
  }

  /** Waits after a table was in use, so that its readers go first. */
  async waitForTable(why: string, error: unknown): Promise<void> {
    const waited = performance.now() - this.#startedAt
    if (waited >= this.#timeout) throw schemaLockedError(why, this.#timeout, error)
    this.#log(waited, why)
    await setTimeout(Math.min(100 * 2 ** this.#pauses++, 2000))
  }

  #log(waited: number, why: string): void {
    this.#loggedAt = waited
    this.#options.log.warn({ waited: Math.round(waited) }, `waiting to change the schema: ${why}`)
  }
}

function schemaLockedError(why: string, timeout: number, cause?: unknown): DeclarationError {
  const error = new DeclarationError([
    {
      code: 'SCHEMA_LOCKED',
      message: `The schema could not be changed for ${timeout} ms: ${why}.`,
      remedy:
        'Wait for the other process, or end it by pg_terminate_backend. schemaTimeout in the address sets the wait.',
    },
  ])
  error.cause = cause
  return error
}

/** Runs statements on a session. */
class SessionRunner implements Runner {
  readonly #client: Client
  readonly #script: (statement: Statement) => Promise<void>

  /** @param script runs statements without a result. Default: unchanged */
  constructor(client: Client, script?: (statement: Statement) => Promise<void>) {
    this.#client = client
    this.#script = script ?? (({ sql }) => scriptOn(client, sql))
  }

  async run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): Promise<Results[W]> {
    if (resultKind === 'nothing') {
      await this.#script(statement)
      return undefined as Results[W]
    }
    const { rows, rowCount, fields } = await runOn(this.#client, statement.sql, values)
    const count = rowCount ?? 0
    const all = { names: fields.map(({ name }) => name), rows, changes: count }
    return { rows, first: rows[0], count, all, nothing: undefined }[resultKind]
  }
}
