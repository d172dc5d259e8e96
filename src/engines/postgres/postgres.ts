/**
 * The engine for PostgreSQL and servers that speak its protocol, with the clients of `pg`. Statements that run
 * repeatedly are prepared once on each connection. Short reads of all requests share a few connections; every other
 * statement gets its own. When a connection is lost, its running statements fail, and new connections are opened when
 * needed. Sources: node-postgres, Client; PostgreSQL, Extended Query.
 */

import { setTimeout as pause } from 'node:timers/promises'
import type {
  ClientReading,
  BeginOptions,
  CallBatching,
  DatabaseProcesses,
  Results,
  ClientWriting,
  Engine,
  EngineChannel,
  EngineSchema,
  EngineStatus,
  RequestStatements,
  Statement,
  Runner,
  TransactionRunner,
  Values,
  ResultKind,
} from '../contract/engine.js'
import { requestTimeoutError } from '../client-writes.js'
import type { Dialect } from '../contract/dialect.js'
import { frameworkQuery, isBrief } from '../contract/statement.js'
import { Call, type CallOwner, canRetry, retryAfterConflict } from './call.js'
import { readPostgresCatalogue, lockedTablesError } from './catalogue.js'
import { createPostgresChannel } from './notify-channel.js'
import { ClientReads, type ReadParts } from './client-reads.js'
import { CancellableWrites, type WriteParts, OrderedStatements } from './writes.js'
import { postgresCopy } from './bulk-insert.js'
import { createPostgresDialect } from './dialect.js'
import { loadDriver, type Driver } from './driver.js'
import { isLockTimeout, convertPostgresError } from './errors.js'
import { batchCalls } from './batching/batch-calls.js'
import {
  unreachableError,
  type PostgresOptions,
  withTransactionLimits,
  refusesLimits,
} from './options.js'
import { readServerTraits, type ServerTraits } from './server-traits.js'
import { createPolledChannel } from './polled-channel.js'
import { ConnectionPool } from './pool.js'
import type { PooledConnection } from './pooled-connection.js'
import { startPostgresHeartbeat } from './session.js'
import { ReadSlots } from './read-slots.js'
import { QuickReads, SharedReads } from './shared-reads.js'
import { changePostgresSchema } from './schema-change.js'
import { PreparedStatements } from './prepared-statements.js'
import { SlowReadDetector } from './slow-read-detector.js'
import { readPostgresSizes } from './planner.js'
import { beginStatement, PostgresTransaction } from './transaction.js'

/** Ends a framework query that takes too long, in the same way as the reads of a request end with the request. */
class Deadline implements ClientReading {
  isOver = false
  readonly #time: number

  /** @param time milliseconds, counted from the first query */
  constructor(time: number) {
    this.#time = time
  }

  onFinished(end: () => void): void {
    setTimeout(() => {
      this.isOver = true
      end()
    }, this.#time).unref()
  }
}

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
    throw unreachableError(options.url, cause)
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

const unknownOutcome =
  'the connection broke while a write was under way: whether it was done is not known'

const readProcessId: Statement = frameworkQuery('select pg_backend_pid()')

/** The timeout in milliseconds of framework queries about sizes and types, which read only the catalogue. */
const catalogueTime = 2000

interface EngineParts {
  readonly driver: Driver
  readonly options: PostgresOptions
  readonly pool: ConnectionPool
  readonly names: PreparedStatements
  readonly traits: ServerTraits
  readonly dialect: Dialect
  readonly channel: EngineChannel | undefined
}

class PostgresEngine implements Engine, CallOwner {
  readonly dialect: Dialect
  readonly status: EngineStatus
  readonly processes: DatabaseProcesses
  readonly schema: EngineSchema = {
    change: (work, { atomic = true } = {}) => {
      const { driver, options } = this.#parts
      return changePostgresSchema(driver, options, work, atomic)
    },
    catalogue: async (runner, names) => {
      try {
        return await readPostgresCatalogue(runner, names)
      } catch (error) {
        throw isLockTimeout(error)
          ? await lockedTablesError(this.#catalogueReads(), error, names)
          : error
      }
    },
    sizes: (tables) => readPostgresSizes(this.#catalogueReads(), tables),
  }
  readonly requests: RequestStatements = {
    reads: (reading) => new ClientReads(reading, this.#readParts),
    writes: (writing) => new CancellableWrites(writing, this.#writeParts),
    inOrder: async (send, writing) => {
      const { pool } = this.#parts
      const connection = pool.take() ?? (await pool.acquire().catch(throwConverted))
      releaseIfTimedOut(pool, connection, writing)
      const statements = new OrderedStatements(pool, connection, writing)
      try {
        send(statements)
      } finally {
        statements.end()
      }
    },
  }
  readonly batching: CallBatching = {
    parameterTypes: ({ sql }) =>
      this.#parts.names.types.typesOf(sql, async (statement, values) =>
        this.#catalogueReads().run(statement, values, 'rows'),
      ),
  }
  readonly #parts: EngineParts
  /** Short reads. Slow ones move to a connection of their own. */
  readonly #briefReads: SharedReads
  readonly #readParts: ReadParts
  readonly #writeParts: WriteParts

  constructor(parts: EngineParts) {
    this.#parts = parts
    this.dialect = parts.dialect
    const { pool, names, options, channel } = parts
    this.status = {
      driver: 'pg',
      isReadOnly: () => parts.traits.isReadOnly,
      pool: () => pool.state,
      isFileLost: () => false,
    }
    this.processes = {
      heartbeat: (heartbeatOptions) => startPostgresHeartbeat(options, heartbeatOptions),
      channel,
    }
    const slowReads = new SlowReadDetector(pool)
    this.#briefReads = new SharedReads(pool, slowReads)
    const slots = new ReadSlots(
      Math.floor(pool.maxConnections / 2),
      Math.floor(pool.maxConnections / 3),
    )
    const quickReads = new QuickReads(pool, slowReads, slots)
    this.#readParts = {
      engine: this,
      pool,
      names,
      slots,
      briefReads: this.#briefReads,
      quickReads,
    }
    this.#writeParts = { engine: this, pool, fail: this.#fail }
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): Promise<Results[W]> {
    const call = new Call(statement, values, resultKind, this)
    const answer = call.result<Results[W]>()
    if (isBrief(statement)) this.#briefReads.read(call)
    else this.#parts.pool.run(call)
    return answer
  }

  /** Retries reads if the connection was closed, and any statement if its prepared form is outdated. */
  failed(call: Call, error: unknown): void {
    this.#fail(call, error, this.#retry)
  }

  readonly #fail = (call: Call, error: unknown, retry: (call: Call) => void): void => {
    const converted = convertPostgresError(error)
    if (canRetry(call, converted, this.#parts.names)) retry(call)
    else if (!retryAfterConflict(call, converted, retry)) {
      if (call.isOutcomeUnknown(error))
        this.#parts.options.log.warn(
          { err: converted, tables: call.statement.tables },
          unknownOutcome,
        )
      call.reject(converted)
    }
  }

  readonly #retry = (call: Call): void => {
    this.#parts.pool.run(call)
  }

  rerouted(call: Call): void {
    this.#briefReads.read(call)
  }

  async begin({ isolation, waitTimeout, writing }: BeginOptions = {}): Promise<TransactionRunner> {
    // Replicas do not accept `serializable`, and transactions that only read cause no conflicts.
    const begin = beginStatement(
      this.#parts.traits.isReadOnly && isolation ? 'repeatable read' : isolation,
    )
    const { pool, options } = this.#parts
    const connection = await pool.acquire(waitTimeout).catch(throwConverted)
    releaseIfTimedOut(pool, connection, writing)
    const transaction = new PostgresTransaction(pool, connection, writing)
    return transaction.begin(begin + (options.transactionLimits ?? ''))
  }

  #catalogueReads(): Runner {
    return new ClientReads(new Deadline(catalogueTime), this.#readParts)
  }

  close(): Promise<void> {
    return this.#parts.pool.end()
  }
}

/** Releases a connection that became available after the timeout. */
function releaseIfTimedOut(
  pool: ConnectionPool,
  connection: PooledConnection,
  writing: ClientWriting | undefined,
): void {
  if (writing?.isTimedOut !== true) return
  pool.release(connection)
  throw requestTimeoutError()
}

function throwConverted(error: unknown): never {
  throw convertPostgresError(error)
}
