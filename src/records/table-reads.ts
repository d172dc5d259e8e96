/**
 * Notes which tables some work reads, whoever asks for them in it: repositories, GraphQL, Kysely, rules of rights. Following
 * the work through its promises costs all of them, so it is done only while somebody notes.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Statement } from '../engines/contract/statement.js'

/** What was read of one database. */
export interface TableReads {
  /** Names as statements say them, in lower case; `*` where one did not say them all. */
  readonly tables: Set<string>
}

/** What one piece of work reads. */
export class ReadsByDatabase {
  readonly all = new Map<object, TableReads>()

  of(database: object): TableReads {
    let reads = this.all.get(database)
    if (reads === undefined) this.all.set(database, (reads = { tables: new Set() }))
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

/** A statement is sent: the work that it belongs to, if any, reads its tables. */
export function noteRead(
  database: object | undefined,
  { tables }: Pick<Statement, 'tables'>,
): void {
  const reads = storage.getStore()
  if (reads === undefined || database === undefined) return
  const known = reads.of(database).tables
  for (const table of tables) known.add(table.toLowerCase())
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
