/**
 * PostgreSQL within this process, by PGlite, for tests and previews without a server. It has one connection, so all
 * other statements wait during a transaction. SQL, JSON, catalogue and errors are PostgreSQL's. Source: PGlite, API.
 */

import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type {
  BeginOptions,
  Results,
  Engine,
  CallBatching,
  EngineSchema,
  EngineSource,
  EngineStatus,
  RequestStatements,
  Row,
  Runner,
  SchemaChangeOptions,
  Statement,
  TransactionRunner,
  Values,
  ResultKind,
} from '../contract/engine.js'
import { installCommand, missingPackage } from '../../errors/missing-package.js'
import { DeclarationError } from '../../errors/declaration-error.js'
import { declareOptions, type OptionsOf } from '../../options/declare-options.js'
import { option } from '../../options/option.js'
import { ClientWrites, requestTimeoutError } from '../client-writes.js'
import { WriterLock } from '../writer-lock.js'
import { EngineError } from '../contract/engine-error.js'
import { frameworkScript } from '../contract/statement.js'
import { readPostgresCatalogue, readPostgresTypes } from '../postgres/catalogue.js'
import { describePostgresTables } from '../postgres/describe-tables.js'
import { createPostgresDialect } from '../postgres/dialect.js'
import { convertPostgresError } from '../postgres/errors.js'
import { batchCalls } from '../postgres/batching/batch-calls.js'
import { PlaceholderTypes } from '../postgres/prepared-statements.js'
import { readPostgresSizes } from '../postgres/planner.js'
import { beginStatement } from '../postgres/transaction.js'
import { lockFolder } from './folder-lock.js'

const pgliteOptions = declareOptions({
  /** The folder of the database. Missing folders are created. Default: in memory, lost when the process ends. */
  folder: option.any<string>(),
  /** Milliseconds to wait for another transaction. Default 5,000. */
  busyTimeout: option.any<number>(),
})

export interface PgliteOptions extends OptionsOf<typeof pgliteOptions> {}

/**
 * PostgreSQL in this process, by the package `@electric-sql/pglite`: `connect({ engine: pglite() })`,
 * `bootstrap(AppModule, { database: pglite() })`.
 */
export function pglite(options: PgliteOptions = {}): EngineSource {
  pgliteOptions.check('pglite', options)
  const { folder, busyTimeout = 5000 } = options
  return {
    open: async () => {
      const { PGlite } = await loadDriver()
      // PGlite creates the folder, but not its parents. An address such as `memory://` is not a folder.
      const isFolder = folder !== undefined && !folder.includes('://')
      if (isFolder) mkdirSync(dirname(folder), { recursive: true })
      const unlock = isFolder ? lockFolder(folder) : () => undefined
      const database = new PGlite(folder)
      try {
        await database.waitReady
      } catch (cause) {
        unlock()
        throw unreadableError(folder, cause)
      }
      return batchCalls(new PgliteEngine(database, busyTimeout, unlock))
    },
  }
}

/** The part of PGlite that is used. */
interface PglitePackage {
  readonly PGlite: new (folder?: string) => PgliteDatabase
}
interface PgliteDatabase {
  readonly waitReady: Promise<void>
  query(sql: string, values: readonly unknown[], options: object): Promise<DriverResult>
  exec(sql: string): Promise<unknown>
  describeQuery(sql: string): Promise<{
    readonly queryParams: readonly { readonly dataTypeID: number }[]
  }>
  close(): Promise<void>
}
interface DriverResult {
  readonly rows: Row[]
  readonly fields: readonly { readonly name: string }[]
  readonly affectedRows?: number
}

/** @throws {DeclarationError} the package is missing */
async function loadDriver(): Promise<PglitePackage> {
  // Typed here, so that the package is not needed to compile.
  const name = '@electric-sql/pglite'
  try {
    return (await import(name)) as PglitePackage
  } catch (cause) {
    const message =
      'PostgreSQL in the process needs the package @electric-sql/pglite, which is missing.'
    const remedy = `Run: ${installCommand(name)}`
    throw missingPackage({ name, code: 'DATABASE_DRIVER_MISSING', message, remedy }, cause)
  }
}

function unreadableError(folder: string | undefined, cause: unknown): DeclarationError {
  const error = new DeclarationError([
    {
      code: 'DATABASE_UNREADABLE',
      message: `The database ${folder ?? 'in memory'} cannot be opened: ${String(cause)}.`,
      remedy: 'Check the folder, and that it was made by this version of PGlite.',
    },
  ])
  error.cause = cause
  return error
}

/** Text for bigint, dates, timestamps and JSON, as in pg. The record's codecs parse it. */
const parsers = {
  20: asText,
  114: asText,
  1082: asText,
  1184: asText,
  3802: asText,
  17: toBuffer,
}
const queryOptions = { rowMode: 'array', parsers }

function asText(text: string): string {
  return text
}

/** `\x6162` */
function toBuffer(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex')
}

/** Runs statements immediately. Callers decide about the order. */
class PgliteRunner implements Runner {
  readonly #database: PgliteDatabase

  constructor(database: PgliteDatabase) {
    this.#database = database
  }

  async run<W extends ResultKind>(
    { sql }: Statement,
    values: Values,
    resultKind: W,
  ): Promise<Results[W]> {
    try {
      if (resultKind === 'nothing') {
        await this.#database.exec(sql)
        return undefined as Results[W]
      }
      const {
        fields,
        rows,
        affectedRows: count = 0,
      } = await this.#database.query(sql, values, queryOptions)
      // PGlite reports no command tags. A statement with columns and no changed row counts as a query.
      const hasOnlyRead = fields.length > 0 && count === 0
      const all = { names: fields.map(({ name }) => name), rows, changes: count, hasOnlyRead }
      return { rows, first: rows[0], count, all, nothing: undefined }[resultKind]
    } catch (error) {
      throw convertError(error)
    }
  }
}

/** Errors without a code come from the driver: a value of the wrong type, or a closed database. */
function convertError(error: unknown): unknown {
  const converted = convertPostgresError(error)
  if (converted instanceof EngineError || !(error instanceof Error)) return converted
  if (/is clos(?:ed|ing)/.test(error.message))
    return new EngineError('unavailable', error.message, error)
  return /^Invalid input/.test(error.message)
    ? new EngineError('value', error.message, error)
    : error
}

class PgliteEngine implements Engine {
  readonly dialect = createPostgresDialect(true, false)
  readonly status: EngineStatus = {
    driver: 'pglite',
    isReadOnly: () => false,
    pool: () => undefined,
    isFileLost: () => false,
  }
  readonly schema: EngineSchema = {
    change: (work, options) => this.#changeSchema(work, options),
    catalogue: readPostgresCatalogue,
    types: readPostgresTypes,
    describe: describePostgresTables,
    sizes: (tables) => readPostgresSizes(this, tables),
  }
  readonly requests: RequestStatements = {
    writes: (writing) =>
      new ClientWrites(writing, this.#runner, (work, _writes, isOver) =>
        this.#runAlone(async () => {
          if (isOver?.() === true) throw requestTimeoutError()
          return work()
        }),
      ),
  }
  readonly batching: CallBatching = {
    parameterTypes: async ({ sql }) => {
      const { queryParams } = await this.#runAlone(() => this.#database.describeQuery(sql))
      const numbers = queryParams.map(({ dataTypeID }) => dataTypeID)
      return this.#types.toNames(numbers, (statement, values) =>
        this.run(statement, values, 'rows'),
      )
    },
  }
  readonly #database: PgliteDatabase
  readonly #runner: PgliteRunner
  readonly #lock: WriterLock
  readonly #unlock: () => void
  readonly #types = new PlaceholderTypes()

  constructor(database: PgliteDatabase, busyTimeout: number, unlock: () => void) {
    this.#database = database
    this.#unlock = unlock
    this.#runner = new PgliteRunner(database)
    this.#lock = new WriterLock(busyTimeout)
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): Promise<Results[W]> {
    return this.#runAlone(() => this.#runner.run(statement, values, resultKind))
  }

  async begin({
    isolation,
    waitTimeout: busyTimeout,
    writing,
  }: BeginOptions = {}): Promise<TransactionRunner> {
    const begin = beginStatement(isolation)
    await this.#lock.acquire(busyTimeout)
    try {
      if (writing?.isTimedOut === true) throw requestTimeoutError()
      await this.#runner.run(frameworkScript(begin), [], 'nothing')
      return new PgliteTransaction(this.#database, this.#lock)
    } catch (error) {
      this.#lock.release()
      throw error
    }
  }

  async #changeSchema<T>(
    work: (runner: Runner) => Promise<T>,
    { atomic = true }: SchemaChangeOptions = {},
  ): Promise<T> {
    if (!atomic) return this.#lock.run(() => work(this.#runner))
    const transaction = await this.begin()
    try {
      const result = await work(transaction)
      await transaction.commit()
      return result
    } catch (error) {
      await transaction.rollback()
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#database.close()
    this.#unlock()
  }

  /** Runs between transactions; the driver itself runs statements one after the other. */
  #runAlone<T>(work: () => Promise<T>): Promise<T> {
    return this.#lock.isHeld ? this.#lock.run(work) : work()
  }
}

class PgliteTransaction extends PgliteRunner implements TransactionRunner {
  readonly #lock: WriterLock
  #isOver = false

  constructor(database: PgliteDatabase, lock: WriterLock) {
    super(database)
    this.#lock = lock
  }

  commit(): Promise<void> {
    return this.#end('commit')
  }

  async rollback(): Promise<void> {
    await this.#end('rollback').catch(() => undefined)
  }

  async #end(sql: string): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    try {
      await this.run(frameworkScript(sql), [], 'nothing')
    } finally {
      this.#lock.release()
    }
  }
}
