/** What a database is opened with. */
import type { Problem } from '../errors/declaration-error.js'
import { refuseUnknownNames } from '../errors/unknown-names.js'
import type { Log } from '../core/log.js'
import type { Class } from '../metadata/note.js'
import type { Engine, EngineSource } from './engines/engine.js'
import type { Builder } from './statements/builder.js'

export interface DatabaseOptions {
  /** Default `sqlite:./data/app.db`. */
  url?: string
  /** Another engine than the one that the address chooses: `pglite()`. */
  engine?: EngineSource
  /** PostgreSQL's address around a pooler, for what needs a session: events of other processes, migrations. Default `url`. */
  direct?: string | undefined
  /**
   * Copies of PostgreSQL that answer reads outside transactions: `['postgres://a/shop']`. Who has written reads what it wrote;
   * a copy that is too far behind, or gone, is passed over. Default none.
   */
  replicas?: readonly string[] | undefined
  /** Milliseconds that a replica may be behind. Default 1,000. */
  replicaLag?: number | undefined
  /** The record classes, whose tables `sync` makes. Those that relations lead to belong to them. Default: those used so far. */
  records?: readonly Class[]
  /** Gets lost connections and changes of the schema. Default: nobody. */
  log?: Log
  /** Milliseconds since 1970, for timestamps. Default the system's clock. */
  now?: () => number
  /**
   * Milliseconds after which the server ends a statement, changes of the schema excepted; 0 is never. An address with
   * `statement_timeout` says it itself. Default 30,000; in an application its time for handlers.
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
  log: true,
  now: true,
  statementTimeout: true,
}

/** @param problems gets unknown options, and an engine that cannot be opened */
export function checkDatabaseOptions(options: DatabaseOptions, problems: Problem[]): void {
  refuseUnknownNames('connect', options, optionNames, problems)
  const engine: unknown = options.engine
  if (engine === undefined || isEngineSource(engine)) return
  problems.push({
    code: 'INVALID_OPTION',
    message: 'connect: engine has no method open.',
    remedy: 'Give an object with a method open, or an address: connect(url).',
  })
}

function isEngineSource(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return false
  return typeof (given as Partial<EngineSource>).open === 'function'
}

/** What a database is made of. */
export interface DatabaseParts {
  readonly engine: Engine
  readonly builder: Builder
  readonly log: Log
  readonly now: () => number
}
