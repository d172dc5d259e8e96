/**
 * Records which tables a piece of work reads: through repositories, GraphQL, Kysely and access rules. Tracking the work
 * through its promises slows all work down, so it is active only while something is being recorded.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Statement } from '../engines/contract/engine.js'
import type { RowTest } from '../engines/contract/statement.js'

/** The reads of one database. */
export interface TableReads {
  /** The names of the tables in lower case; `*` if a statement did not name all its tables. */
  readonly tables: Set<string>
  /** By table: the values of the rows that matter, one test for each statement; null if any row may matter. */
  readonly tests: Map<string, readonly RowValues[] | null>
}

/** The values that a row must have, all of them, by column name, in the form of `comparable`. */
export type RowValues = ReadonlyMap<string, string>

/** The maximum number of tests for one table. Beyond it, all rows of the table matter. */
const maxTests = 50

/** Converts an integer, a text or a boolean to a text that is equal for drivers and records. */
export function comparable(value: unknown): string | undefined {
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : undefined
}

/** The reads of one piece of work, by database. */
export class ReadsByDatabase {
  readonly all = new Map<object, TableReads>()
  /** True if the work has used the current request, which work for several callers does not have. */
  usesRequest = false

  of(database: object): TableReads {
    let reads = this.all.get(database)
    if (reads === undefined)
      this.all.set(database, (reads = { tables: new Set(), tests: new Map() }))
    return reads
  }
}

const storage = new AsyncLocalStorage<ReadsByDatabase>()
/** The number of pieces of work whose reads are being recorded. */
let open = 0

/** True while any reads are being recorded. */
export function areReadsTracked(): boolean {
  return open > 0
}

/** True inside work whose reads are being recorded. */
export function isTracking(): boolean {
  return open > 0 && storage.getStore() !== undefined
}

/** Records that code used the current request where there is none. */
export function trackRequest(): void {
  const reads = open > 0 ? storage.getStore() : undefined
  if (reads !== undefined) reads.usesRequest = true
}

/** Records the tables of a statement for the work that sends it, if its reads are being recorded. */
export function trackRead(
  database: object | undefined,
  statement: Pick<Statement, 'tables' | 'only'>,
  values: readonly unknown[],
): void {
  const reads = storage.getStore()
  if (reads === undefined || database === undefined) return
  const { tables, tests } = reads.of(database)
  const { only } = statement
  for (const named of statement.tables) {
    const table = named.toLowerCase()
    const test = only?.table === named ? testOf(only, values) : undefined
    const before = tables.has(table) ? tests.get(table) : []
    tables.add(table)
    const isTestable = test !== undefined && before !== null && before !== undefined
    tests.set(table, isTestable && before.length < maxTests ? [...before, test] : null)
  }
}

/** @returns undefined if a value cannot be compared as text */
function testOf({ columns }: RowTest, values: readonly unknown[]): RowValues | undefined {
  const test = new Map<string, string>()
  for (const { name, position } of columns) {
    const value = comparable(values[position])
    if (value === undefined) return undefined
    test.set(name, value)
  }
  return test
}

/** Runs work, and records its reads until it ends, also if it fails. */
export async function trackReads<T>(
  reads: ReadsByDatabase,
  work: () => T | PromiseLike<T>,
): Promise<T> {
  open++
  try {
    return await storage.run(reads, work)
  } finally {
    if (--open === 0) storage.disable()
  }
}
