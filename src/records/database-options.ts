/** The options of a database, and their checks. */
import type { Problems } from '../errors/problems.js'
import { checkOptionNames } from '../errors/unknown-options.js'
import type { Log } from '../core/log.js'
import type { Class } from '../metadata/class.js'
import type { Engine, EngineSource } from '../engines/contract/engine.js'
import type { DatabaseClock } from './database-clock.js'
import type { QueryBuilder } from './statements/builder.js'

export interface DatabaseOptions {
  /** Default `sqlite:./data/app.db`. */
  url?: string
  /** A custom engine instead of the one that the address selects: `pglite()`. */
  engine?: EngineSource
  /**
   * The address of PostgreSQL without the pooler, for work that needs a session: events of other processes, migrations.
   * Default `url`.
   */
  direct?: string | undefined
  /**
   * Replicas of PostgreSQL for reads outside transactions: `['postgres://a/shop']`. A caller who has written reads its
   * own writes. A replica that is unreachable or lags too much is skipped. Default none.
   */
  replicas?: readonly string[] | undefined
  /** The maximum lag of a replica behind the primary, in milliseconds. Default 1,000. */
  replicaLag?: number | undefined
  /**
   * The record classes whose tables `sync` creates, including the records that their relations lead to. Default: the
   * records used so far.
   */
  records?: readonly Class[]
  /** Receives lost connections and schema changes. Default: the log of the application that provides the database. */
  log?: Log
  /**
   * The maximum number of matches that a client's search ranks. A record's own `searchLimit` overrides it. Default
   * 10,000.
   */
  searchLimit?: number | undefined
  /** The clock for timestamps, in milliseconds since 1970. Default the system's clock. */
  now?: () => number
  /**
   * Milliseconds after which the server cancels a statement, except changes of the schema; 0 means never. An address
   * with `statement_timeout` overrides it. Default 30,000; in an application, its time limit for handlers.
   */
  statementTimeout?: number
}

const optionNames: Readonly<Record<keyof DatabaseOptions, true>> = {
  url: true,
  engine: true,
  direct: true,
  replicas: true,
  replicaLag: true,
  records: true,
  searchLimit: true,
  log: true,
  now: true,
  statementTimeout: true,
}

/** @param problems collects unknown options, and an engine that cannot be opened */
export function checkDatabaseOptions(options: DatabaseOptions, problems: Problems): void {
  checkOptionNames('connect', options, optionNames, problems)
  checkSearchLimit('connect', options.searchLimit, problems)
  const engine: unknown = options.engine
  if (engine === undefined || isEngineSource(engine)) return
  problems.add({
    code: 'INVALID_OPTION',
    message: 'connect: engine has no method open.',
    remedy: 'Pass an object with a method open, or an address: connect(url).',
  })
}

/** @param where the record or the database that has the option, for the message */
export function checkSearchLimit(where: string, value: unknown, problems: Problems): void {
  if (value === undefined || (Number.isSafeInteger(value) && Number(value) > 0)) return
  problems.add({
    code: 'INVALID_OPTION',
    message: `${where}: searchLimit is ${JSON.stringify(value)}.`,
    remedy: 'Set a positive integer: the maximum number of matches that a search ranks.',
  })
}

function isEngineSource(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return typeof (value as Partial<EngineSource>).open === 'function'
}

/** The parts from which a database is built. */
export interface DatabaseParts {
  readonly engine: Engine
  readonly kysely: QueryBuilder
  readonly log: Log
  readonly now: () => number
  readonly clock: DatabaseClock
  readonly searchLimit?: number | undefined
}
