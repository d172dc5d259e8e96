/** The options of a database, and their checks. */
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import type { Log } from '../core/log.js'
import type { Class } from '../metadata/class.js'
import type { Engine, EngineSource } from '../engines/contract/engine.js'
import { searchLimitOption } from './model/record.js'
import type { DatabaseClock } from './database-clock.js'
import type { QueryBuilder } from './statements/builder.js'

export const databaseOptions = declareOptions({
  /** Default `sqlite:./data/app.db`. */
  url: option.any<string>(),
  /** A custom engine instead of the one that the address selects: `pglite()`. */
  engine: option.of<EngineSource>(
    isEngineSource,
    'Pass an object with a method open, or an address: connect(url).',
  ),
  /**
   * The address of PostgreSQL without the pooler, for work that needs a session: events of other processes, migrations.
   * Default `url`.
   */
  direct: option.any<string>(),
  /**
   * Replicas of PostgreSQL for reads outside transactions: `['postgres://a/shop']`. A caller who has written reads its
   * own writes. A replica that is unreachable or lags too much is skipped. Default none.
   */
  replicas: option.any<readonly string[]>(),
  /** The maximum lag of a replica behind the primary, in milliseconds. Default 1,000. */
  replicaLag: option.any<number>(),
  /**
   * The record classes whose tables `sync` creates, including the records that their relations lead to. Default: the
   * records used so far.
   */
  records: option.any<readonly Class[]>(),
  /** Receives lost connections and schema changes. Default: the log of the application that provides the database. */
  log: option.any<Log>(),
  /**
   * The maximum number of matches that a client's search ranks. A record's own `searchLimit` overrides it. Default
   * 10,000.
   */
  searchLimit: searchLimitOption,
  /** The clock for timestamps, in milliseconds since 1970. Default the system's clock. */
  now: option.any<() => number>(),
  /**
   * Milliseconds after which the server cancels a statement, except changes of the schema; 0 means never. An address
   * with `statement_timeout` overrides it. Default 30,000; in an application, its time limit for handlers.
   */
  statementTimeout: option.any<number>(),
})

export interface DatabaseOptions extends OptionsOf<typeof databaseOptions> {}

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
