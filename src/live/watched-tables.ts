/**
 * Which live answers have read which tables, and what is known of writes to them: rows from the change feed, whichever
 * process wrote them; tables from other statements of all processes; and that somebody else has written at all.
 */
import type { Log } from '../core/log.js'
import { anyTable } from '../engines/contract/statement.js'
import type { PastRow, RowChanges } from '../records/changes/changes.js'
import type { Database } from '../records/database.js'
import type { Table } from '../records/model/table.js'
import {
  comparable,
  type ReadsByDatabase,
  type RowValues,
  type TableReads,
} from '../records/table-reads.js'
import type { LiveAnswer } from './live-query.js'

/** Milliseconds for which tables are followed that no answer reads any more: a client may come again. */
const lingering = 5000
/** Milliseconds between two looks whether another process has written, where none tells. */
const lookEvery = 100

export class WatchedTables {
  readonly #log: Log
  readonly #databases = new Map<Database, DatabaseTables>()

  constructor({ log }: { readonly log: Log }) {
    this.#log = log
  }

  /**
   * From now on the answer is told of writes to what it has read.
   *
   * @param began when the answer began to read, by the steady clock
   * @returns true where it was not told of something that was written since
   */
  async follow(answer: LiveAnswer, reads: ReadsByDatabase, began: number): Promise<boolean> {
    let isNew = false
    for (const [of, read] of reads.all) {
      const database = of as Database
      let own = this.#databases.get(database)
      if (own === undefined)
        this.#databases.set(database, (own = new DatabaseTables(database, this.#log)))
      if (await own.follow(answer, read, began)) isNew = true
    }
    return isNew
  }

  unfollow(answer: LiveAnswer): void {
    for (const own of this.#databases.values()) own.unfollow(answer)
  }

  close(): void {
    for (const own of this.#databases.values()) own.close()
    this.#databases.clear()
  }
}

const allMatter: TableReads['tests'] = new Map()

class DatabaseTables {
  readonly #database: Database
  readonly #log: Log
  /** Answers by the names of the tables that they have read. */
  readonly #answers = new Map<string, Set<LiveAnswer>>()
  readonly #read = new Map<LiveAnswer, TableReads>()
  /** By the names of tables that are followed; promises of those that are about to be. */
  readonly #followed = new Map<string, Promise<readonly (() => void)[]>>()
  readonly #stopWritten: () => void
  /** When they began to be followed, and when something was told of them last, by the steady clock. */
  readonly #since = new Map<string, number>()
  readonly #movedAt = new Map<string, number>()
  #looks: NodeJS.Timeout | undefined
  #lingers: NodeJS.Timeout | undefined

  constructor(database: Database, log: Log) {
    this.#database = database
    this.#log = log
    this.#stopWritten = database.feed.onWritten((table) => {
      this.#written(table)
    })
  }

  async follow(answer: LiveAnswer, reads: TableReads, began: number): Promise<boolean> {
    clearTimeout(this.#lingers)
    this.#lingers = undefined
    const hasAll = reads.tables.has(anyTable)
    const tables = hasAll ? new Set([...this.#allNames(), anyTable]) : reads.tables
    const before = this.#read.get(answer)?.tables
    for (const table of before ?? [])
      if (!tables.has(table)) this.#answers.get(table)?.delete(answer)
    this.#read.set(answer, { tables, tests: hasAll ? allMatter : reads.tests })
    this.#followRows(reads)
    for (const table of tables) {
      const answers = this.#answers.get(table) ?? new Set()
      this.#answers.set(table, answers.add(answer))
    }
    const added = [...tables, anyTable].filter((table) => !this.#followed.has(table))
    for (const table of added) this.#followed.set(table, this.#watch(table))
    if (added.includes(anyTable)) this.#look()
    const isKnown = (table: string): boolean =>
      (this.#since.get(table) ?? Infinity) <= began && (this.#movedAt.get(table) ?? 0) < began
    const isMissing = ![...tables, anyTable].every(
      (table) => before?.has(table) === true || isKnown(table),
    )
    try {
      await Promise.all([...tables, anyTable].flatMap((table) => this.#followed.get(table) ?? []))
    } catch (error) {
      for (const table of added) this.#followed.delete(table)
      throw error
    }
    return isMissing
  }

  unfollow(answer: LiveAnswer): void {
    for (const table of this.#read.get(answer)?.tables ?? [])
      this.#answers.get(table)?.delete(answer)
    this.#read.delete(answer)
    if (this.#read.size > 0 || this.#lingers !== undefined) return
    this.#lingers = setTimeout(() => {
      this.#lingers = undefined
      if (this.#read.size === 0) this.#stop()
    }, lingering).unref()
  }

  close(): void {
    this.#stopWritten()
    this.#stop()
    clearTimeout(this.#lingers)
  }

  #stop(): void {
    for (const watched of this.#followed.values()) {
      watched.then(
        (stops) => {
          for (const stop of stops) stop()
        },
        () => undefined,
      )
    }
    this.#followed.clear()
    this.#answers.clear()
    this.#since.clear()
    this.#movedAt.clear()
    clearInterval(this.#looks)
    this.#looks = undefined
  }

  /** Follows the records that keep their rows there; of a table that ties two records, both. */
  async #watch(name: string): Promise<readonly (() => void)[]> {
    const { feed } = this.#database
    const watched = this.#tablesOf(name).map((table) =>
      feed.watch(table, {
        columns: [],
        onChanges: (changes) => {
          this.#changed(name, table, changes)
        },
        end: () => undefined,
      }),
    )
    const elsewhere = feed.onWrittenElsewhere(name, () => {
      this.#written(name)
    })
    const stops = await Promise.all([...watched, elsewhere])
    this.#since.set(name, performance.now())
    return stops.filter((stop) => stop !== undefined)
  }

  /** Asks writers for what rows held and hold, in the columns by which answers go; until they tell it, all rows matter. */
  #followRows({ tests }: TableReads): void {
    for (const [name, some] of tests) {
      const wanted = new Set((some ?? []).flatMap((test) => [...test.keys()]))
      const [table] = this.#tablesOf(name)
      for (const column of table?.columns ?? []) {
        const key = `${name} ${column.name}`
        if (table === undefined || !wanted.has(column.name) || this.#followed.has(key)) continue
        const watching = this.#database.feed.watch(table, {
          columns: [column],
          needsRowValues: true,
          onChanges: () => undefined,
          end: () => undefined,
        })
        this.#followed.set(
          key,
          watching.then((stop) => [stop]),
        )
        watching.catch(() => this.#followed.delete(key))
      }
    }
  }

  #tablesOf(name: string): Table[] {
    return [...this.#database.tables].filter(
      (table) =>
        table.name.toLowerCase() === name ||
        [...table.relations.values()].some(({ join }) => join?.name.toLowerCase() === name),
    )
  }

  #allNames(): string[] {
    return [...this.#database.tables].map(({ name }) => name.toLowerCase())
  }

  #changed(name: string, table: Table, changes: RowChanges): void {
    this.#movedAt.set(name, performance.now())
    const isWhole = changes.event === 'lost' || table.name.toLowerCase() !== name
    for (const answer of this.#answers.get(name) ?? []) {
      const tests = isWhole ? undefined : this.#read.get(answer)?.tests.get(name)
      if (tests === undefined || tests === null || answer.isRunning || matters(changes, tests))
        answer.changed()
    }
  }

  #written(table: string): void {
    this.#movedAt.set(table, performance.now())
    if (table === anyTable) {
      for (const answer of this.#read.keys()) answer.changed()
      return
    }
    for (const answer of this.#answers.get(table) ?? []) answer.changed()
  }

  /** Looks whether another process has written, where it does not tell. */
  #look(): void {
    const { engine } = this.#database.context
    if (engine.externalWriteVersion === undefined) return
    let last = engine.externalWriteVersion()
    let isFailing = false
    this.#looks = setInterval(() => {
      try {
        const count = engine.externalWriteVersion?.() ?? last
        if (count !== last) this.#written(anyTable)
        last = count
        isFailing = false
      } catch (error) {
        if (!isFailing)
          this.#log.warn({ err: error }, 'what other processes write cannot be looked up')
        isFailing = true
      }
    }, lookEvery).unref()
  }
}

/** False where each row holds, before and after, what none of the tests lets count. */
function matters({ event, ids, past, now }: RowChanges, tests: readonly RowValues[]): boolean {
  return ids.some((_id, index) => {
    const sides = [
      ...(event === 'created' ? [] : [past?.[index]]),
      ...(event === 'deleted' ? [] : [now?.[index]]),
    ]
    return sides.some((row) => row === undefined || tests.some((test) => mayPass(row, test)))
  })
}

function mayPass(row: PastRow, test: RowValues): boolean {
  for (const [column, wanted] of test) {
    const value = row[column]
    if (value === undefined) return true
    if (value === null || comparable(value) !== wanted) return false
  }
  return true
}
