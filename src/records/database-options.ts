/** What a database is opened with. */
import type { Problem } from '../errors/declaration-error.js'
import { refuseUnknownNames } from '../errors/unknown-options.js'
import type { Log } from '../core/log.js'
import type { Class } from '../metadata/class-metadata.js'
import type { Engine, EngineSource } from '../engines/contract/engine.js'
import type { DatabaseClock } from './database-clock.js'
import type { QueryBuilder } from './statements/builder.js'

export interface DatabaseOptions {
  /** Default `sqlite:./data/app.db`. */
  url?: string
  /** An engine of your own instead of the one that the address selects: `pglite()`. */
  engine?: EngineSource
  /**
   * PostgreSQL's address without the pooler, for work that needs a session: events of other processes, migrations.
   * Default `url`.
   */
  direct?: string | undefined
  /**
   * Copies of PostgreSQL that answer reads outside transactions: `['postgres://a/shop']`. A caller who has written
   * reads its own writes; a copy that is unreachable or too far behind is skipped. Default none.
   */
  replicas?: readonly string[] | undefined
  /** How many milliseconds a replica may be behind the primary. Default 1,000. */
  replicaLag?: number | undefined
  /**
   * The record classes whose tables `sync` creates; records that relations lead to are included. Default: those used so
   * far.
   */
  records?: readonly Class[]
  /** Receives lost connections and schema changes. Default: the log of an application that is given the database. */
  log?: Log
  /**
   * How many matches a client's search ranks at most, of records without a `searchLimit` of their own. Default 10,000.
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

/** @param problems gets unknown options, and an engine that cannot be opened */
export function checkDatabaseOptions(options: DatabaseOptions, problems: Problem[]): void {
  refuseUnknownNames('connect', options, optionNames, problems)
  checkSearchLimit('connect', options.searchLimit, problems)
  const engine: unknown = options.engine
  if (engine === undefined || isEngineSource(engine)) return
  problems.push({
    code: 'INVALID_OPTION',
    message: 'connect: engine has no method open.',
    remedy: 'Give an object with a method open, or an address: connect(url).',
  })
}

/** @param where whose option it is */
export function checkSearchLimit(where: string, given: unknown, problems: Problem[]): void {
  if (given === undefined || (Number.isSafeInteger(given) && Number(given) > 0)) return
  problems.push({
    code: 'INVALID_OPTION',
    message: `${where}: searchLimit is ${JSON.stringify(given)}.`,
    remedy: 'Give a positive integer: the most matches that a search ranks.',
  })
}

function isEngineSource(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return false
  return typeof (given as Partial<EngineSource>).open === 'function'
}

/** What a database is made of. */
export interface DatabaseParts {
  readonly engine: Engine
  readonly kysely: QueryBuilder
  readonly log: Log
  readonly now: () => number
  readonly clock: DatabaseClock
  readonly searchLimit?: number | undefined
}
