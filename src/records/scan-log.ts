/**
 * In development, finds queries that read entire tables. It reads the plan of each statement once, in the background,
 * and stores the advice in the database for an hour. Source: docs/records/model.md, "Queries that scan".
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as startTimer } from 'node:timers'
import { setTimeout } from 'node:timers/promises'
import type { Database } from './database.js'
import { ensureTable, hasTable } from './own-tables.js'
import { frameworkQuery } from '../engines/contract/statement.js'
import type { StatementEvent } from './statement-tracking.js'
import type { Table } from './model/table.js'

const scansTable = 'filigree_scans'
const hour = 3_600_000

const script = `create table if not exists ${scansTable} (advice text primary key, seen_at text not null)`

async function storeAdvice(database: Database, advice: string): Promise<void> {
  if (!(await ensureTable(database, scansTable, script))) return
  const seenAt = new Date(database.context.now()).toISOString()
  await database.kysely
    .insertInto(scansTable)
    .values({ advice, seen_at: seenAt })
    .onConflict((conflict) => conflict.column('advice').doUpdateSet({ seen_at: seenAt }))
    .execute()
}

/** The advice of the last hour. */
export async function readScans(database: Database): Promise<string[]> {
  if (!(await hasTable(database, scansTable))) return []
  const rows = await database.kysely
    .selectFrom(scansTable)
    .select('advice')
    .where('seen_at', '>', anHourAgo(database))
    .orderBy('advice')
    .execute()
  return rows.map(({ advice }) => String(advice))
}

async function removeOldAdvice(database: Database): Promise<void> {
  if (!(await hasTable(database, scansTable))) return
  await database.kysely.deleteFrom(scansTable).where('seen_at', '<', anHourAgo(database)).execute()
}

function anHourAgo({ context }: Database): string {
  return new Date(context.now() - hour).toISOString()
}

/** Reads the recorded advice, and the server's own statistics if it has them. */
export async function findScans(database: Database): Promise<string[]> {
  await database.sizes.read()
  const found = new Set(await readScans(database))
  for (const sql of await readStatistics(database)) {
    const advice = await adviceOf(database, sql).catch(() => undefined)
    if (advice !== undefined) found.add(advice)
  }
  return [...found].sort()
}

/** The slowest statements. An empty list if the extension is missing, or this user may not read it. */
async function readStatistics({ context: { engine, dialect } }: Database): Promise<string[]> {
  const { statistics } = dialect.scans
  if (statistics === undefined) return []
  try {
    const { rows } = await engine.run(frameworkQuery(statistics), [], 'all')
    return rows.map(([sql]) => String(sql))
  } catch {
    return []
  }
}

/** The maximum number of statements that a process examines. */
const maxStatements = 500
/** Smaller tables are quick to read completely. */
const manyRows = 1000
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
    const { database, sql, kind } = message as StatementEvent
    if (database !== this.#database || kind !== 'SELECT' || this.#knownStatements.has(sql)) {
      if (++this.#knownInARow >= maxKnownInARow) this.#pause()
      return
    }
    this.#knownInARow = 0
    if (this.#knownStatements.size >= maxStatements || !/\s(?:where|order by)\s/i.test(sql)) return
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
        const advice = await adviceOf(this.#database, sql, route).catch(() => undefined)
        if (advice !== undefined && !this.#isOver) await storeAdvice(this.#database, advice)
        pending.delete(statement)
      }
      await removeOldAdvice(this.#database)
    } finally {
      for (const { sql } of pending) this.#knownStatements.delete(sql)
    }
  }
}

/** @returns advice about a statement that reads all rows of a large table; undefined for other statements */
async function adviceOf(
  database: Database,
  sql: string,
  route?: string,
): Promise<string | undefined> {
  const { engine, dialect } = database.context
  if (/filigree_/.test(sql) || !isLarge(database, sql)) return undefined
  for (const name of dialect.scans.read(await dialect.scans.explain(engine, sql))) {
    const table = tableCalled(name, sql, database.tables)
    if (table === undefined || database.sizes.rowsOf(table.name) < manyRows) continue
    return adviseIndex(table, sql, route)
  }
  return undefined
}

function isLarge({ tables, sizes }: Database, sql: string): boolean {
  return [...tables].some(({ name }) => sql.includes(`"${name}"`) && sizes.rowsOf(name) >= manyRows)
}

const alias = /(?:from|join)\s+"(\w+)"(?:\s+as\s+"?(\w+)"?)?/gi

/** @returns the table that a query plan calls by this name or alias */
export function tableCalled(
  name: string,
  sql: string,
  tables: ReadonlySet<Table>,
): Table | undefined {
  for (const [, table, other] of sql.matchAll(alias))
    if (name === other || name === table) return [...tables].find((one) => one.name === table)
  return undefined
}

/**
 * Describes a query that reads all rows of a table by its conditions, and the index that would serve it.
 *
 * @param route the route of the query: `GET /lamps`
 * @returns undefined if the query neither filters nor sorts
 */
export function adviseIndex(table: Table, sql: string, route?: string): string | undefined {
  const [, tests = ''] = /\swhere\s(.*)$/is.exec(sql) ?? []
  const [found = '', order = ''] = tests.split(/\sorder by\s/i)
  const filtered = columnsIn(found, table)
  const sorted = orderIn(/\sorder by\s(.*)$/is.exec(sql)?.[1] ?? order, table)
  if (!/\s(?:where|order by)\s/i.test(sql)) return undefined
  const fields = [...new Set([...filtered.equal, ...filtered.other.slice(0, 1), ...sorted])]
  const { name } = table.type
  const clauses = [
    ...(filtered.all.length > 0 ? [`where ${filtered.all.join(' and ')}`] : []),
    ...(sorted.length > 0 ? [`ordered by ${sorted.join(', ')}`] : []),
  ]
  const description = `${name}: a list ${clauses.join(', ')}`.trim()
  if (fields.length === 0) return /"\."/.test(found) ? describeScan(name, found, route) : undefined
  const quoted = fields.map((field) => `'${field}'`).join(', ')
  return `${description}. @Record({ indexes: [{ fields: [${quoted}] }] }) before class ${name} would serve it.`
}

const longestCondition = 200

/** Describes a condition that names no field of the record with which an index could begin. */
function describeScan(name: string, condition: string, route: string | undefined): string {
  const routeText = route === undefined ? '' : ` for ${route}`
  const isRelated = /exists \(select/i.test(condition)
  const fix = isRelated
    ? 'With an index of the related field, the database can begin there, unless many rows share its values.'
    : 'No index can serve it.'
  const text = condition.trim().replaceAll('"', '')
  const shortened = text.length > longestCondition ? `${text.slice(0, longestCondition)}…` : text
  return `${name}: every row is read${routeText}, where ${shortened}. ${fix}`
}

interface Filtered {
  readonly equal: readonly string[]
  readonly other: readonly string[]
  readonly all: readonly string[]
}

function columnsIn(text: string, table: Table): Filtered {
  const equal: string[] = []
  const other: string[] = []
  for (const { name, property, isKey } of table.columns) {
    const found = new RegExp(
      String.raw`"${name}"\)?\s*(=|in\b|is null|<=|>=|<|>|like|between)`,
      'i',
    ).exec(text)
    if (found === null || isKey) continue
    const isExact = ['=', 'in', 'is null'].includes(found[1]?.toLowerCase() ?? '')
    ;(isExact ? equal : other).push(property)
  }
  return { equal, other, all: [...equal, ...other] }
}

function orderIn(text: string, table: Table): string[] {
  const fields: string[] = []
  for (const [, name, direction] of text.matchAll(
    /"(\w+)"(?:\s+(desc))?(?=\s*(?:,|nulls|limit|asc|desc|$))/gi,
  )) {
    const column = table.columns.find((one) => one.name === name)
    if (column !== undefined && !column.isKey)
      fields.push(`${direction === undefined ? '' : '-'}${column.property}`)
  }
  return fields
}
