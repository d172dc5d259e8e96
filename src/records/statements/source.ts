/**
 * The source of a repository, which runs its statements: the database, a transaction, or the request of one client. All
 * sources of a database share its `RecordsContext`.
 */
import type { ChangeFeed } from '../changes/change-feed.js'
import type { RowChanges } from '../changes/changes.js'
import type { MaybePromise } from '../../core/maybe-promise.js'
import type { Column } from '../../engines/contract/table.js'
import type { Engine, Runner } from '../../engines/contract/engine.js'
import type { Isolation } from '../../core/transaction.js'
import type { Table } from '../model/table.js'
import { concealInJson } from '../rights/secured-responses.js'
import { createTableCodec, type TableCodec } from '../model/codec.js'
import { TablePlans } from './plans.js'
import { compileWriteChecks, type WriteChecks } from './write-check.js'
import type { QueryBuilder } from './builder.js'
import type { Class } from '../../metadata/class.js'
import type { FilterContext } from '../filters/filter.js'

export function createContext({
  engine,
  kysely,
  now,
  tables,
  searchLimit,
  statistics,
  providers,
}: Pick<
  RecordsContext,
  'engine' | 'kysely' | 'now' | 'tables' | 'searchLimit' | 'statistics' | 'providers'
>): RecordsContext {
  const { dialect } = engine
  const codecs = new WeakMap<Table, TableCodec>()
  const plans = new WeakMap<Table, TablePlans>()
  const checks = new WeakMap<Table, WriteChecks>()
  const codecOf = (table: Table): TableCodec =>
    remember(codecs, table, () => {
      concealInJson(table)
      return createTableCodec(table, dialect)
    })
  return Object.freeze({
    engine,
    kysely,
    tables,
    dialect,
    searchLimit,
    codecOf,
    plansOf: (table: Table) => remember(plans, table, () => new TablePlans(table, dialect)),
    checksOf: (table: Table) => remember(checks, table, () => compileWriteChecks(table, now)),
    now,
    statistics,
    providers,
  })
}

function remember<K extends object, V>(cache: WeakMap<K, V>, key: K, make: () => V): V {
  const cached = cache.get(key)
  if (cached !== undefined) return cached
  const value = make()
  cache.set(key, value)
  return value
}

/** The parts that all repositories of a database share. */
export interface RecordsContext extends FilterContext {
  readonly engine: Engine
  readonly kysely: QueryBuilder
  /** Every table that has been used so far. */
  readonly tables: ReadonlySet<Table>
  plansOf(table: Table): TablePlans
  checksOf(table: Table): WriteChecks
  /** Milliseconds since 1970. */
  now(): number
  readonly statistics: TableStatistics
  /** Providers for hooks. */
  readonly providers: RecordProviders
}

export interface TableStatistics {
  /** Whether the table is so large that reading all of its rows takes noticeable time. False until its size is known. */
  readonly isLarge: (table: Table) => boolean
  /** The number of different values of a column that has few. `undefined` if unknown. */
  readonly valuesOf: (table: Table, column: Column) => number | undefined
}

export interface RecordProviders {
  /** The repository of a record, on a source. */
  readonly records: (type: Class, source: Source) => object
  /** A provider of the application. Undefined outside applications. */
  get?: (token: Class | string | symbol) => unknown
}

export interface Source {
  readonly context: RecordsContext
  /** The current runner of statements. */
  runner(): Runner
  /** Records written rows, which are reported after their commit. */
  changed(changes: RowChanges): void
  /** Registers work to run after the commit; it does not run after a rollback. */
  committed(work: () => Promise<void>): void
  /** Notifies listeners of changes. */
  readonly feed: ChangeFeed
  /** True if the write needs a new transaction, because a message is sent with it. */
  announces(table: Table): MaybePromise<boolean>
  /**
   * Runs work, all or nothing. Inside a transaction, the work is a savepoint that can fail alone.
   *
   * @param isolation of a transaction that begins here: `isolationOf` if the application's code runs in it; undefined:
   * the database's default
   */
  atomically<T>(work: (source: Source) => Promise<T>, isolation?: Isolation): Promise<T>
}

/** @throws {TypeError} the database was opened without an application */
export function providerOf(
  providers: Pick<RecordProviders, 'get'> | undefined,
  token: Class | string | symbol,
): unknown {
  if (providers?.get !== undefined) return providers.get(token)
  const name = typeof token === 'function' ? token.name : String(token)
  throw new TypeError(
    `get: ${name} is a provider of an application, but this database was opened without one. Pass it to bootstrap: bootstrap(App, { database }).`,
  )
}
