/**
 * In development, finds queries that read entire tables. It reads the plan of each statement once, in the background,
 * and stores the advice in the database for an hour. Source: docs/records/model.md, "Queries that scan".
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as startTimer } from 'node:timers'
import { setTimeout } from 'node:timers/promises'
import type { Database } from './database.js'
import { createOwnTable, hasTable } from './own-tables.js'
import { PreparedSql } from './prepared-sql.js'
import { frameworkQuery } from '../engines/contract/statement.js'
import { filtersOrSorts, planStatement } from './scan-advice.js'
import { isOfFramework, type StatementEvent } from './statement-tracking.js'

const scansTable = 'filigree_scans'
const hour = 3_600_000
/** Smaller tables are quick to read completely. */
const manyRows = 1000

const script = `create table if not exists ${scansTable} (advice text primary key, seen_at text not null)`

async function storeAdvice(database: Database, advice: string): Promise<void> {
  if (!(await createOwnTable(database, scansTable, script))) return
  const store = new PreparedSql(
    database,
    { kind: 'upsert', tables: [scansTable] },
    ({
      value,
    }) => `insert into ${scansTable} (advice, seen_at) values (${value('advice')}, ${value('seenAt')})
on conflict (advice) do update set seen_at = excluded.seen_at`,
  )
  await store.run({ advice, seenAt: new Date(database.context.now()).toISOString() }, 'count')
}

/** The advice of the last hour. */
export async function readScans(database: Database): Promise<string[]> {
  if (!(await hasTable(database, scansTable))) return []
  const read = new PreparedSql(
    database,
    { kind: 'select', tables: [scansTable] },
    ({ value }) =>
      `select advice from ${scansTable} where seen_at > ${value('since')} order by advice`,
  )
  const rows = await read.run({ since: anHourAgo(database) }, 'rows')
  return rows.map(([advice]) => String(advice))
}

async function removeOldAdvice(database: Database): Promise<void> {
  if (!(await hasTable(database, scansTable))) return
  const remove = new PreparedSql(
    database,
    { kind: 'delete', tables: [scansTable] },
    ({ value }) => `delete from ${scansTable} where seen_at < ${value('before')}`,
  )
  await remove.run({ before: anHourAgo(database) }, 'count')
}

function anHourAgo({ context }: Database): string {
  return new Date(context.now() - hour).toISOString()
}

/** Reads the recorded advice, and the server's own statistics if it has them. */
export async function findScans(database: Database): Promise<string[]> {
  await database.sizes.read()
  const found = new Set(await readScans(database))
  for (const sql of await readStatistics(database))
    for (const advice of await adviceFor(database, sql)) found.add(advice)
  return [...found].sort()
}

/** The slowest statements. An empty list if the extension is missing, or this user may not read it. */
export async function readStatistics({
  context: { engine, dialect },
}: Database): Promise<string[]> {
  const { statistics } = dialect.tables.scans
  if (statistics === undefined) return []
  try {
    const { rows } = await engine.run(frameworkQuery(statistics), [], 'all')
    return rows.map(([sql]) => String(sql))
  } catch {
    // Advice is only more complete with the server's statistics, which most users may not read.
    return []
  }
}

/** Advice about the large tables that a statement reads completely. */
async function adviceFor(
  database: Database,
  sql: string,
  route?: string,
): Promise<readonly string[]> {
  return (await planStatement(database, sql, { minRows: manyRows, route })).advice
}

/** The maximum number of statements that a process examines. */
const maxStatements = 500
/** After this many known statements in a row it stops listening for a while, because each event slows a quick read. */
const maxKnownInARow = 200
/** Milliseconds for which it stops listening. A statement that ran only then is found when it runs again. */
const pauseTime = 2000
/** Milliseconds before new statements are examined. */
const delay = 1000
/** Milliseconds that closing waits for the pending statements. */
const closeTimeout = 1000

/** A statement that is examined later, and the route that sent it first. */
interface PendingStatement {
  readonly sql: string
  readonly route: string | undefined
}

export class ScanLog {
  readonly #database: Database
  readonly #routeOf: () => string | undefined
  readonly #knownStatements = new Set<string>()
  #waiting: PendingStatement[] = []
  #timer: NodeJS.Timeout | undefined
  /** Statements in a row that were known. */
  #knownInARow = 0
  #pauseTimer: NodeJS.Timeout | undefined
  #work: Promise<void> = Promise.resolve()
  #isOver = false

  /** @param routeOf returns the route of the current request: `GET /lamps` */
  constructor(database: Database, routeOf: () => string | undefined = () => undefined) {
    this.#database = database
    this.#routeOf = routeOf
    subscribe('filigree:statement', this.#onStatement)
  }

  /** Examines the pending statements, if the database responds soon. */
  async close(): Promise<void> {
    unsubscribe('filigree:statement', this.#onStatement)
    clearTimeout(this.#timer)
    clearTimeout(this.#pauseTimer)
    this.#examinePending()
    await Promise.race([this.#work, setTimeout(closeTimeout, undefined, { ref: false })])
    this.#isOver = true
  }

  readonly #onStatement = (message: unknown): void => {
    const event = message as StatementEvent
    const { database, sql, kind } = event
    const isExamined =
      database === this.#database &&
      kind === 'SELECT' &&
      // Otherwise the query of a plan would be examined itself, again and again.
      !isOfFramework(event) &&
      !this.#knownStatements.has(sql)
    if (!isExamined) {
      if (++this.#knownInARow >= maxKnownInARow) this.#pause()
      return
    }
    this.#knownInARow = 0
    if (this.#knownStatements.size >= maxStatements || !filtersOrSorts(sql)) return
    this.#knownStatements.add(sql)
    this.#waiting.push({ sql, route: this.#routeOf() })
    this.#timer ??= startTimer(() => {
      this.#examinePending()
    }, delay).unref()
  }

  #pause(): void {
    unsubscribe('filigree:statement', this.#onStatement)
    this.#knownInARow = 0
    this.#pauseTimer = startTimer(() => {
      subscribe('filigree:statement', this.#onStatement)
    }, pauseTime).unref()
  }

  #examinePending(): void {
    this.#timer = undefined
    const waiting = this.#waiting
    this.#waiting = []
    if (waiting.length > 0)
      this.#work = this.#work.then(() => this.#examineAll(waiting)).catch(() => undefined)
  }

  /** If the database is too busy to store the advice, the statement is examined again when it runs again. */
  async #examineAll(statements: readonly PendingStatement[]): Promise<void> {
    const pending = new Set(statements)
    try {
      await this.#database.sizes.read()
      for (const statement of statements) {
        const { sql, route } = statement
        for (const advice of await adviceFor(this.#database, sql, route))
          if (!this.#isOver) await storeAdvice(this.#database, advice)
        pending.delete(statement)
      }
      await removeOldAdvice(this.#database)
    } finally {
      for (const { sql } of pending) this.#knownStatements.delete(sql)
    }
  }
}
