/**
 * Tracks which live queries read which tables, and notifies them of writes. Row changes come from the change feed of
 * any process. Other statements report their tables. Without either, polling detects writes by other processes.
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
} from '../records/tracked-reads.js'

/** Milliseconds before an unused table is no longer watched. A client may reconnect meanwhile. */
const stopDelay = 5000
/** Milliseconds between two polls for writes of other processes, if the database sends no notifications. */
const pollInterval = 100

/** A live query, as far as its tables are watched. */
interface TableReader {
  /** True during a run, while the tables of this run are not yet known. */
  readonly isRunning: boolean
  /** Called after a write to data that the query has read. */
  changed(): void
}

export class WatchedTables {
  readonly #log: Log
  readonly #databases = new Map<Database, DatabaseTables>()

  constructor({ log }: { readonly log: Log }) {
    this.#log = log
  }

  /**
   * Notifies the query of writes to what it has read, from now on.
   *
   * @param startedAt start of the run, by the monotonic clock
   * @returns true if a write may have been missed since the start
   */
  async follow(query: TableReader, reads: ReadsByDatabase, startedAt: number): Promise<boolean> {
    let isNew = false
    for (const [of, read] of reads.all) {
      const database = of as Database
      let tables = this.#databases.get(database)
      if (tables === undefined)
        this.#databases.set(database, (tables = new DatabaseTables(database, this.#log)))
      if (await tables.follow(query, read, startedAt)) isNew = true
    }
    return isNew
  }

  unfollow(query: TableReader): void {
    for (const tables of this.#databases.values()) tables.unfollow(query)
  }

  close(): void {
    for (const tables of this.#databases.values()) tables.close()
    this.#databases.clear()
  }
}

const noTests: TableReads['tests'] = new Map()

class DatabaseTables {
  readonly #database: Database
  readonly #log: Log
  /** Live queries by the names of the tables that they read. */
  readonly #queries = new Map<string, Set<TableReader>>()
  readonly #read = new Map<TableReader, TableReads>()
  /** Watches by table name, as promises, because a watch may still be starting. */
  readonly #followed = new Map<string, Promise<readonly (() => void)[]>>()
  readonly #stopWritten: () => void
  /** By the monotonic clock: when watching began, and when the last change was reported. */
  readonly #followedSince = new Map<string, number>()
  readonly #writtenAt = new Map<string, number>()
  #pollTimer: NodeJS.Timeout | undefined
  #stopTimer: NodeJS.Timeout | undefined

  constructor(database: Database, log: Log) {
    this.#database = database
    this.#log = log
    this.#stopWritten = database.feed.onWritten((table) => {
      this.#written(table)
    })
  }

  async follow(query: TableReader, reads: TableReads, startedAt: number): Promise<boolean> {
    clearTimeout(this.#stopTimer)
    this.#stopTimer = undefined
    const hasAll = reads.tables.has(anyTable)
    const tables = hasAll ? new Set([...this.#allNames(), anyTable]) : reads.tables
    const before = this.#read.get(query)?.tables
    for (const table of before ?? [])
      if (!tables.has(table)) this.#queries.get(table)?.delete(query)
    this.#read.set(query, { tables, tests: hasAll ? noTests : reads.tests })
    this.#followRows(reads)
    for (const table of tables) {
      const queries = this.#queries.get(table) ?? new Set()
      this.#queries.set(table, queries.add(query))
    }
    const added = [...tables, anyTable].filter((table) => !this.#followed.has(table))
    for (const table of added) this.#followed.set(table, this.#watch(table))
    if (added.includes(anyTable)) this.#startPolling()
    const isCovered = (table: string): boolean =>
      (this.#followedSince.get(table) ?? Infinity) <= startedAt &&
      (this.#writtenAt.get(table) ?? 0) < startedAt
    const isMissing = ![...tables, anyTable].every(
      (table) => before?.has(table) === true || isCovered(table),
    )
    try {
      await Promise.all([...tables, anyTable].flatMap((table) => this.#followed.get(table) ?? []))
    } catch (error) {
      for (const table of added) this.#followed.delete(table)
      throw error
    }
    return isMissing
  }

  unfollow(query: TableReader): void {
    for (const table of this.#read.get(query)?.tables ?? []) this.#queries.get(table)?.delete(query)
    this.#read.delete(query)
    if (this.#read.size > 0 || this.#stopTimer !== undefined) return
    this.#stopTimer = setTimeout(() => {
      this.#stopTimer = undefined
      if (this.#read.size === 0) this.#stop()
    }, stopDelay).unref()
  }

  close(): void {
    this.#stopWritten()
    this.#stop()
    clearTimeout(this.#stopTimer)
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
    this.#queries.clear()
    this.#followedSince.clear()
    this.#writtenAt.clear()
    clearInterval(this.#pollTimer)
    this.#pollTimer = undefined
  }

  /** Watches the records that are stored in the table. For a link table, watches both linked records. */
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
    this.#followedSince.set(name, performance.now())
    return stops.filter((stop) => stop !== undefined)
  }

  /**
   * Requests old and new values of changed rows, in the columns that the queries filter by. Until writers report them,
   * every row change matters.
   */
  #followRows({ tests }: TableReads): void {
    for (const [name, rowTests] of tests) {
      const expected = new Set((rowTests ?? []).flatMap((test) => [...test.keys()]))
      const [table] = this.#tablesOf(name)
      for (const column of table?.columns ?? []) {
        const key = `${name} ${column.name}`
        if (table === undefined || !expected.has(column.name) || this.#followed.has(key)) continue
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
    this.#writtenAt.set(name, performance.now())
    const affectsAllRows = changes.event === 'lost' || table.name.toLowerCase() !== name
    for (const query of this.#queries.get(name) ?? []) {
      const tests = affectsAllRows ? undefined : this.#read.get(query)?.tests.get(name)
      if (tests === undefined || tests === null || query.isRunning || affectsRows(changes, tests))
        query.changed()
    }
  }

  #written(table: string): void {
    this.#writtenAt.set(table, performance.now())
    if (table === anyTable) {
      for (const query of this.#read.keys()) query.changed()
      return
    }
    for (const query of this.#queries.get(table) ?? []) query.changed()
  }

  /** Polls for writes of other processes, if the database does not report them. */
  #startPolling(): void {
    const readVersion = this.#database.context.engine.processes?.externalWriteVersion
    if (readVersion === undefined) return
    let last = readVersion()
    let isFailing = false
    this.#pollTimer = setInterval(() => {
      try {
        const count = readVersion()
        if (count !== last) this.#written(anyTable)
        last = count
        isFailing = false
      } catch (error) {
        if (!isFailing)
          this.#log.warn({ err: error }, 'writes of other processes cannot be detected')
        isFailing = true
      }
    }, pollInterval).unref()
  }
}

/** False if no test matches any row, neither before nor after the change. */
function affectsRows({ event, ids, past, now }: RowChanges, tests: readonly RowValues[]): boolean {
  return ids.some((_id, index) => {
    const sides = [
      ...(event === 'created' ? [] : [past?.[index]]),
      ...(event === 'deleted' ? [] : [now?.[index]]),
    ]
    return sides.some((row) => row === undefined || tests.some((test) => mayPass(row, test)))
  })
}

function mayPass(row: PastRow, test: RowValues): boolean {
  for (const [column, expected] of test) {
    const value = row[column]
    if (value === undefined) return true
    if (value === null || comparable(value) !== expected) return false
  }
  return true
}
