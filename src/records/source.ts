/** Where a repository works: on the database, or in a transaction of it. */
import type { Builder } from './builder.js'
import type { Engine, Runner } from './engine.js'
import type { FilterContext } from './filter.js'
import type { TablePlans } from './plans.js'
import type { Table } from './table.js'
import type { WriteChecks } from './write-check.js'

/** What all repositories of a database share. */
export interface RecordsContext extends FilterContext {
  readonly engine: Engine
  readonly builder: Builder
  /** Every table known so far. */
  readonly tables: ReadonlySet<Table>
  plansOf(table: Table): TablePlans
  checksOf(table: Table, from: 'client' | 'program'): WriteChecks
  /** Milliseconds since 1970. */
  now(): number
}

/** A row was written. Told after it is committed; `insertMany` tells none. */
export interface Change {
  readonly event: 'created' | 'updated' | 'deleted'
  readonly table: Table
  readonly id: string | number
}

export interface Source {
  readonly context: RecordsContext
  /** What runs statements now. */
  runner(): Runner
  changed(change: Change): void
  /** All or nothing; inside a transaction a part of it that can fail alone. */
  atomically<T>(work: (source: Source) => Promise<T>): Promise<T>
}
