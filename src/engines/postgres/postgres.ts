/**
 * Opens PostgreSQL and servers that speak its protocol, with the clients of `pg`: reads what the server can, and chooses
 * how processes notify each other.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Engine, EngineChannel } from '../contract/engine.js'
import { frameworkQuery } from '../contract/statement.js'
import { batchCalls } from './batching/batch-calls.js'
import { postgresCopy } from './bulk-insert.js'
import { Call } from './call.js'
import { createPostgresDialect } from './dialect.js'
import { loadDriver, type Driver } from './driver.js'
import { createPostgresChannel } from './notify-channel.js'
import {
  limitsOf,
  unreachableError,
  type PostgresOptions,
  withTransactionLimits,
  refusesLimits,
} from './options.js'
import { createPolledChannel } from './polled-channel.js'
import { ConnectionPool } from './pool.js'
import { PostgresEngine } from './postgres-engine.js'
import { PreparedStatements } from './prepared-statements.js'
import { readServerTraits, type ServerTraits } from './server-traits.js'

/** @throws {DeclarationError} a missing driver, no server, a refused connection */
export async function openPostgres(options: PostgresOptions): Promise<Engine> {
  const driver = await loadDriver()
  const names = new PreparedStatements(options.prepare === false)
  const pool = new ConnectionPool(driver, options, names)
  const open = async (): Promise<Engine> => {
    const [abilities] = await pool.query(abilitiesSql)
    const traits = await readServerTraits(pool, options)
    names.isPooled = await hasPooler(pool)
    if (names.isPooled && options.direct === undefined) options.log.warn({}, noDirectAddress)
    if (traits.product === 'Citus') await checkWorkerLimits(pool, options)
    // The missing features of the server are known now.
    const settled = { ...options, listen: traits.listen, locks: traits.locks }
    const engine = new PostgresEngine({
      driver,
      options: settled,
      pool,
      names,
      traits,
      dialect: createPostgresDialect(
        abilities?.[0] === true,
        abilities?.[1] === true,
        traits.copies ? postgresCopy : undefined,
        traits.product === 'Citus',
      ),
      channel: await openChannel(driver, pool, settled, traits),
    })
    return batchCalls(engine)
  }
  try {
    return await withTimeout(open, options)
  } catch (cause) {
    // A connection that does not respond stays open until the process ends.
    await Promise.race([pool.end(), pause(closeTimeout, undefined, { ref: false })])
    if (refusesLimits(cause) && options.transactionLimits === undefined)
      return openPostgres(withTransactionLimits(options))
    throw unreachableError(options, cause)
  }
}

/** After a failed start: the maximum milliseconds to wait until the connections are closed. */
const closeTimeout = 1000

/** The first queries of a start are small, so a server that has not responded by then is considered unreachable. */
async function withTimeout<T>(work: () => Promise<T>, options: PostgresOptions): Promise<T> {
  const milliseconds = 2 * (options.connectTimeout ?? 5000)
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      // Responses that have arrived in the meantime are handled first.
      setImmediate(reject, new Error(`it has not answered for ${milliseconds / 1000} s`))
    }, milliseconds)
  })
  try {
    return await Promise.race([work(), timeout])
  } finally {
    clearTimeout(timer)
    timeout.catch(() => undefined)
  }
}

function openChannel(
  driver: Driver,
  pool: ConnectionPool,
  options: PostgresOptions,
  { listen, isReadOnly }: ServerTraits,
): Promise<EngineChannel | undefined> {
  return listen === 'poll' && !isReadOnly
    ? createPolledChannel(driver, pool, options)
    : createPostgresChannel(driver, pool, options)
}

/**
 * Whether the server has the ICU collation for letters of all languages, and whether it has trigrams or the user may
 * create the extension.
 */
const abilitiesSql = `select exists (select from pg_collation where collname = 'und-x-icu'),
  exists (select from pg_extension where extname = 'pg_trgm')
    or (has_database_privilege(current_database(), 'create')
      and exists (select from pg_available_extensions where name = 'pg_trgm'))`

const noDirectAddress =
  'the database is behind a pooler: set DATABASE_DIRECT_URL to its address without the pooler, for events between processes and migrations'

/**
 * Warns if only transactions have a lock timeout on the workers of Citus: the settings of a connection to the coordinator do
 * not reach them.
 */
async function checkWorkerLimits(pool: ConnectionPool, options: PostgresOptions): Promise<void> {
  const limit = limitsOf(options).find((setting) => setting.includes('lock_timeout'))
  if (limit === undefined) return
  const [row] = await pool.query(workerLimitsSql).catch(() => [])
  if (typeof row?.[0] !== 'string') return
  const command = `${row[0]} ${limit.replace('set local', 'set')}`
  options.log.warn(
    {},
    `the workers of Citus have no lock_timeout: single statements wait for locks until statement_timeout. Run on the coordinator: ${command}`,
  )
}

const workerLimitsSql = `select format('alter role %I in database %I', current_user, current_database())
  where exists (select from run_command_on_workers('show lock_timeout') where result = '0')`

/**
 * Whether the id of the server process differs from the one that the driver received. Then there is a pooler, which may
 * assign the process to other clients.
 */
async function hasPooler(pool: ConnectionPool): Promise<boolean> {
  const connection = await pool.acquire()
  const answer = new Call(readProcessId, [], 'first', pool, false)
  const first = answer.result<readonly unknown[]>()
  connection.send(answer)
  try {
    return Number((await first)[0]) !== connection.client.processID
  } finally {
    pool.release(connection)
  }
}

const readProcessId = frameworkQuery('select pg_backend_pid()')
