/**
 * Notes which tables some work reads, whoever asks for them in it: repositories, GraphQL, Kysely, rules of rights. Following
 * the work through its promises costs all of them, so it is done only while somebody notes.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { RowTest, Statement } from '../engines/contract/statement.js'

/** What was read of one database. */
export interface TableReads {
  /** Names as statements say them, in lower case; `*` where one did not say them all. */
  readonly tables: Set<string>
  /** By table: what rows hold that matter, one for each statement; null where all of its rows may. */
  readonly tests: Map<string, readonly RowValues[] | null>
}

/** Values that a row must hold, all of them, by the names of columns; in the form of `comparable`. */
export type RowValues = ReadonlyMap<string, string>

/** Tests of one table that are remembered: beyond it all rows matter. */
const mostTests = 50

/** The same text for the same value of an integer, a text or a boolean, as drivers and as records have it. */
export function comparable(value: unknown): string | undefined {
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : undefined
}

/** What one piece of work reads. */
export class ReadsByDatabase {
  readonly all = new Map<object, TableReads>()
  /** Code of the work has asked for the current request, which work for several callers has none of. */
  asksRequest = false

  of(database: object): TableReads {
    let reads = this.all.get(database)
    if (reads === undefined)
      this.all.set(database, (reads = { tables: new Set(), tests: new Map() }))
    return reads
  }
}

const storage = new AsyncLocalStorage<ReadsByDatabase>()
let open = 0

/** True while some work is noted. */
export function areReadsNoted(): boolean {
  return open > 0
}

/** True in work that is noted. */
export function isNoted(): boolean {
  return open > 0 && storage.getStore() !== undefined
}

/** The current request was asked for where there is none. */
export function noteRequest(): void {
  const reads = open > 0 ? storage.getStore() : undefined
  if (reads !== undefined) reads.asksRequest = true
}

/** A statement is sent: the work that it belongs to, if any, reads its tables. */
export function noteRead(
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
    const isKnown = test !== undefined && before !== null && before !== undefined
    tests.set(table, isKnown && before.length < mostTests ? [...before, test] : null)
  }
}

/** @returns undefined where a value is none that can be told by its text */
function testOf({ columns }: RowTest, values: readonly unknown[]): RowValues | undefined {
  const test = new Map<string, string>()
  for (const { name, position: place } of columns) {
    const value = comparable(values[place])
    if (value === undefined) return undefined
    test.set(name, value)
  }
  return test
}

/** Runs work, and notes what it reads until it is done, also where it fails. */
export async function noteReads<T>(
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
