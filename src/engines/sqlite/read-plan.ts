/**
 * Tells short statements from those that read many rows, by SQLite's query plan and the sizes of tables. Sources:
 * SQLite, EXPLAIN QUERY PLAN; The ROWID.
 */
import { Kept } from '../../core/kept.js'
import { isSearchName } from '../search-names.js'
import { quote } from '../ddl.js'
import type { Row, Statement } from '../contract/engine.js'
import { ownQuestion } from '../contract/statement.js'
import type { Connection } from './connection.js'

/**
 * The most rows that a statement may read in the main thread, which takes some milliseconds. A function call for each
 * row counts as another row.
 */
const mostRows = 10_000

/**
 * The most steps for a statement's patterns in the main thread: a pattern may be compared at each character
 * of the whole file, and cannot be interrupted even for a few rows.
 */
const mostSteps = 30_000_000

/** How many milliseconds a table's size is remembered. */
const sizeLasts = 10_000

/** The most plans that are kept. */
const mostPlans = 1000

/** What a statement reads. */
export interface ReadPlan {
  readonly tables: readonly string[]
  /** How many times each row is read. */
  readonly looks: number
  /** Texts are held against patterns. */
  readonly matches: boolean
}

export class ReadPlans {
  readonly #connection: Connection
  readonly #now: () => number
  readonly #byStatement = new WeakMap<Statement, ReadPlan>()
  readonly #byText = new Kept<ReadPlan>(mostPlans)
  readonly #sizes = new Map<string, { readonly rows: number; readonly until: number }>()
  #file = { bytes: 0, until: 0 }

  /** @param now milliseconds of a monotonic clock */
  constructor(connection: Connection, now = (): number => performance.now()) {
    this.#connection = connection
    this.#now = now
  }

  /**
   * Whether the statement reads so many rows that other requests should not wait for it. The plan of each SQL text is
   * read once.
   */
  isLong(statement: Statement, values: readonly unknown[]): boolean {
    let plan = this.#byStatement.get(statement)
    if (plan === undefined) {
      plan = this.#byText.get(statement.sql, () => this.#explain(statement.sql, values))
      this.#byStatement.set(statement, plan)
    }
    for (const table of plan.tables) if (this.#sizeOf(table) * plan.looks > mostRows) return true
    return plan.matches && lengthOf(values) * this.#bytes() > mostSteps
  }

  #bytes(): number {
    const now = this.#now()
    if (now >= this.#file.until) {
      const sql = 'select page_count * page_size from pragma_page_count(), pragma_page_size()'
      const [row] = this.#connection.query(ownQuestion(sql), []).rows
      this.#file = { bytes: Number(row?.[0] ?? 0), until: now + sizeLasts }
    }
    return this.#file.bytes
  }

  #explain(sql: string, values: readonly unknown[]): ReadPlan {
    const explaining = ownQuestion(`explain query plan ${sql}`)
    return readPlan(sql, this.#connection.query(explaining, values).rows)
  }

  /** The largest row number, which SQLite finds without reading the rows. */
  #sizeOf(table: string): number {
    const known = this.#sizes.get(table)
    if (known !== undefined && this.#now() < known.until) return known.rows
    const rows = this.#largestRow(table)
    this.#sizes.set(table, { rows, until: this.#now() + sizeLasts })
    return rows
  }

  #largestRow(table: string): number {
    try {
      const sql = `select max(rowid) from ${quote(table)}`
      return Number(this.#connection.query(ownQuestion(sql), []).rows[0]?.[0] ?? 0)
    } catch {
      // Not a table but a part of the statement, whose tables are in the plan as well.
      return 0
    }
  }
}

/** @param rows rows of `explain query plan`: an id, the parent's id, an unused number, a text */
export function readPlan(sql: string, rows: readonly Row[]): ReadPlan {
  const names = tablesByAlias(sql)
  const parts = rows.map(([id, parent, , detail]) => ({ id, parent, detail: String(detail) }))
  const inner = new Set<unknown>()
  for (const { id, parent, detail } of parts) {
    if (inner.has(parent) || detail.startsWith('CORRELATED')) inner.add(id)
  }
  const sorts = parts.some(({ id, detail }) => !inner.has(id) && /^USE TEMP B-TREE/.test(detail))
  const calls = sql.split(/\bfiligree_fold\(|\bjson_each\(/).length - 1
  const tables = new Set<string>()
  for (const { id, detail } of parts) {
    const [, word, name = ''] = /^(SCAN|SEARCH) (\S+)/.exec(detail) ?? []
    if (word === undefined) continue
    if (detail.includes('VIRTUAL TABLE')) {
      // A search may match any number of rows; `_docsize` has one row for each indexed row.
      if (isSearchName(name)) tables.add(`${name}_docsize`)
      continue
    }
    const table = names.get(name) ?? name
    const isLong =
      word === 'SCAN'
        ? sorts || !endsEarly(sql, table, name)
        : !/\(rowid=\?\)$/.test(detail) && (calls > 0 || (sorts && !inner.has(id)))
    if (isLong) tables.add(table)
  }
  const matches = / like \?|\binstr\(|\bsubstr\(/.test(sql)
  return { tables: [...tables], looks: 1 + calls, matches }
}

/** Characters of all texts that a statement is given. */
function lengthOf(values: readonly unknown[]): number {
  let length = 0
  for (const value of values) if (typeof value === 'string') length += value.length
  return length
}

/** True if a table's rows are read in order up to a limit: then only that many are read. */
function endsEarly(sql: string, table: string, alias: string): boolean {
  const from = alias === table ? quote(table) : `${quote(table)} as ${quote(alias)}`
  const behind = sql.split(`from ${from}`).slice(1)
  return (
    behind.length > 0 &&
    behind.every((text) => /^(?: order by [^()]*?)? limit (?:\?|\d+)(?! offset)/.test(text))
  )
}

function tablesByAlias(sql: string): Map<string, string> {
  const names = new Map<string, string>()
  for (const [, table = '', alias = ''] of sql.matchAll(/"([^"]+)" as "([^"]+)"/g)) {
    names.set(alias, table)
  }
  return names
}
