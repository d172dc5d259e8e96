/**
 * The engine for PostgreSQL. Statements that run repeatedly are prepared once on each connection. Short reads of all
 * requests share a few connections; every other statement gets its own. When a connection is lost, its running
 * statements fail, and new connections are opened when needed. Sources: node-postgres, Client; PostgreSQL, Extended
 * Query.
 */
import type {
  BeginOptions,
  CallBatching,
  ClientReading,
  ClientWriting,
  DatabaseProcesses,
  Engine,
  EngineChannel,
  EngineSchema,
  EngineStatus,
  RequestStatements,
  ResultKind,
  Results,
  Runner,
  Statement,
  TransactionRunner,
  Values,
} from '../contract/engine.js'
import type { Dialect } from '../contract/dialect.js'
import type { EngineCopying } from '../contract/exchange.js'
import { frameworkQuery, frameworkScript, isBrief } from '../contract/statement.js'
import { requestTimeoutError } from '../client-writes.js'
import { Call, type CallOwner, canRetry, retryAfterConflict } from './call.js'
import { lockedTablesError, readPostgresCatalogue, readPostgresTypes } from './catalogue.js'
import { describePostgresTables } from './describe-tables.js'
import { ClientReads, type ReadParts } from './client-reads.js'
import type { Driver } from './driver.js'
import { copySettings, withoutTriggers } from './exchange.js'
import { isLockTimeout, convertPostgresError } from './errors.js'
import { limitsOf, type PostgresOptions } from './options.js'
import { readPostgresSizes } from './planner.js'
import type { ConnectionPool } from './pool.js'
import type { PooledConnection } from './pooled-connection.js'
import type { PreparedStatements } from './prepared-statements.js'
import { ReadSlots } from './read-slots.js'
import { changePostgresSchema } from './schema-change.js'
import type { ServerTraits } from './server-traits.js'
import { startPostgresHeartbeat } from './session.js'
import { QuickReads, SharedReads } from './shared-reads.js'
import { SlowReadDetector } from './slow-read-detector.js'
import { beginStatement, PostgresTransaction } from './transaction.js'
import { CancellableWrites, type WriteParts, OrderedStatements } from './writes.js'

const unknownOutcome =
  'the connection broke while a write was under way: whether it was done is not known'

/** Ends a framework query that takes too long, in the same way as the reads of a request end with the request. */
class QueryDeadline implements ClientReading {
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

/** The timeout in milliseconds of framework queries about sizes and types, which read only the catalogue. */
const catalogueTime = 2000

const readOnlySetting = frameworkQuery("select current_setting('transaction_read_only')", {
  isFresh: true,
})

export interface EngineParts {
  readonly driver: Driver
  readonly options: PostgresOptions
  readonly pool: ConnectionPool
  readonly names: PreparedStatements
  readonly traits: ServerTraits
  readonly dialect: Dialect
  readonly channel: EngineChannel | undefined
}

export class PostgresEngine implements Engine, CallOwner {
  readonly dialect: Dialect
  readonly status: EngineStatus
  readonly processes: DatabaseProcesses
  readonly schema: EngineSchema = {
    change: (work, { atomic = true } = {}) => {
      const { driver, options, traits } = this.#parts
      const isOneTransaction = atomic && traits.product === 'Citus'
      return changePostgresSchema(
        driver,
        options,
        isOneTransaction ? (runner) => inSequence(runner, work) : work,
        atomic,
      )
    },
    catalogue: async (runner, names) => {
      try {
        return await readPostgresCatalogue(runner, names, this.#parts.traits.product === 'Citus')
      } catch (error) {
        throw isLockTimeout(error)
          ? await lockedTablesError(this.#catalogueReads(), error, names)
          : error
      }
    },
    types: readPostgresTypes,
    describe: describePostgresTables,
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
  readonly copying: EngineCopying = {
    snapshot: async () => {
      const snapshot = await this.#beginCopy('begin isolation level repeatable read, read only')
      const run: Runner['run'] = (...call) => snapshot.run(...call)
      return { run, close: () => snapshot.rollback() }
    },
    begin: async () => {
      const transaction = await this.#beginCopy('begin')
      this.#switchesTriggersOff ??= await canRun(transaction, withoutTriggers)
      if (this.#switchesTriggersOff)
        await transaction.run(frameworkScript(withoutTriggers), [], 'nothing')
      const run: Runner['run'] = (...call) => transaction.run(...call)
      const commit = (): Promise<void> => transaction.commit()
      const rollback = (): Promise<void> => transaction.rollback()
      return { run, commit, rollback, checksReferences: !this.#switchesTriggersOff }
    },
  }
  readonly batching: CallBatching = {
    parameterTypes: ({ sql }) =>
      this.#parts.names.types.typesOf(sql, async (statement, values) =>
        this.#catalogueReads().run(statement, values, 'rows'),
      ),
  }
  readonly #parts: EngineParts
  /** Whether the server is a replica, as far as is known. */
  #isReadOnly: boolean
  /**
   * Settings of each transaction that Citus passes on to its workers, one for each message. Citus sends the whole message to
   * the workers. Source: Citus, citus.propagate_set_commands.
   */
  readonly #workerSettings: readonly string[]
  /** Whether the user may switch off triggers. Undefined until the first copy. */
  #switchesTriggersOff: boolean | undefined
  /** Short reads. Slow ones move to a connection of their own. */
  readonly #briefReads: SharedReads
  readonly #readParts: ReadParts
  readonly #writeParts: WriteParts

  constructor(parts: EngineParts) {
    this.#parts = parts
    this.dialect = parts.dialect
    this.#isReadOnly = parts.traits.isReadOnly
    const { pool, names, options, channel, traits } = parts
    this.#workerSettings =
      traits.product === 'Citus'
        ? [`set local citus.propagate_set_commands to 'local'`, ...limitsOf(options)]
        : []
    this.status = {
      driver: 'pg',
      isReadOnly: () => this.#isReadOnly,
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
      isolation !== undefined && (await this.#acceptsOnlyReads()) ? 'repeatable read' : isolation,
    )
    const { pool, options } = this.#parts
    const connection = await pool.acquire(waitTimeout).catch(throwConverted)
    releaseIfTimedOut(pool, connection, writing)
    const transaction = new PostgresTransaction(pool, connection, writing)
    if (this.#workerSettings.length > 0) return transaction.begin(begin, this.#workerSettings)
    return transaction.begin([begin, ...(options.transactionLimits ?? [])].join('; '))
  }

  /** A server that was a replica at the start may have been promoted. */
  async #acceptsOnlyReads(): Promise<boolean> {
    if (!this.#isReadOnly) return false
    const row = await this.run(readOnlySetting, [], 'first')
    this.#isReadOnly = row?.[0] === 'on'
    return this.#isReadOnly
  }

  async #beginCopy(begin: string): Promise<PostgresTransaction> {
    const { pool } = this.#parts
    const connection = await pool.acquire().catch(throwConverted)
    return new PostgresTransaction(pool, connection).begin(`${begin}; ${copySettings}`)
  }

  #catalogueReads(): Runner {
    return new ClientReads(new QueryDeadline(catalogueTime), this.#readParts)
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

/** Citus changes the shards of a table in parallel, and refuses other changes in the same transaction after that. */
async function inSequence<R>(runner: Runner, work: (runner: Runner) => Promise<R>): Promise<R> {
  const sql = `set local citus.multi_shard_modify_mode to 'sequential'`
  await runner.run(frameworkScript(sql), [], 'nothing')
  return work(runner)
}

/** Tries a statement without aborting the transaction. */
async function canRun(runner: Runner, sql: string): Promise<boolean> {
  const run = async (text: string): Promise<undefined> =>
    runner.run(frameworkScript(text), [], 'nothing')
  await run('savepoint filigree_copy')
  const isDone = await run(sql).then(
    () => true,
    () => false,
  )
  await run(
    `${isDone ? '' : 'rollback to savepoint filigree_copy; '}release savepoint filigree_copy`,
  )
  return isDone
}

function throwConverted(error: unknown): never {
  throw convertPostgresError(error)
}
