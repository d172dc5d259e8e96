/**
 * Advice on indexes: finds the tables that a statement reads completely in its query plan, and names the index that would
 * serve the statement. The conditions are read from the SQL, because the statements include custom SQL and the statements of
 * other processes in `pg_stat_statements`.
 */
import type { TableSql } from '../engines/contract/dialect.js'
import { EngineError } from '../engines/contract/engine-error.js'
import { quoteTable } from '../engines/contract/quote.js'
import type { Row } from '../engines/contract/runner.js'
import type { Column } from '../engines/contract/table.js'
import { type IndexedCondition, servingIndexes } from '../sql/index-bound.js'
import type { OrderTerm } from '../sql/order.js'
import type { Database } from './database.js'
import { toTableName } from './model/generated-names.js'
import type { Table } from './model/table.js'

export interface PlannedStatement {
  /** Tables that the statement reads completely, to filter or to sort. */
  readonly scans: readonly string[]
  /** The lines of the query plan. */
  readonly plan: readonly string[]
  /** Indexes that would avoid the scans. */
  readonly advice: readonly string[]
}

const noPlan: PlannedStatement = { scans: [], plan: [], advice: [] }
const maxPlanLines = 60

export interface AdviceOptions {
  /** Scans of smaller tables are ignored. Default: 0. */
  readonly minRows?: number
  /** The route that sent the statement: `GET /lamps`. */
  readonly route?: string | undefined
}

/** Reads the query plan of a statement. A statement that cannot be planned without its values has none. */
export async function planStatement(
  database: Database,
  sql: string,
  { minRows = 0, route }: AdviceOptions = {},
): Promise<PlannedStatement> {
  const { context, tables, sizes } = database
  const { dialect } = context
  const isLarge = ({ name }: Table): boolean => sizes.rowsOf(name) >= minRows
  if (minRows > 0 && !mentionsTable(sql, [...tables].filter(isLarge), dialect.tables)) return noPlan
  const rows = await explain(database, sql)
  if (rows === undefined) return noPlan
  const plan = rows.flatMap((row) => toLines(row.at(-1))).slice(0, maxPlanLines)
  if (limitsScans(sql)) return { scans: [], plan, advice: [] }
  const scans = new Set<string>()
  const advice = new Set<string>()
  for (const name of dialect.tables.scans.read(rows)) {
    const table = tableCalled(name, sql, tables, dialect.tables)
    if (table === undefined || !isLarge(table)) continue
    const index = adviseIndex(table, sql, route)
    // A scan in the order of the primary key is on purpose, or ends at the limit.
    if (index === undefined) continue
    scans.add(table.name)
    advice.add(index)
  }
  return { scans: [...scans], plan, advice: [...advice] }
}

/** Whether it is a list of a large table whose scans have an end: `sql/few-matches.ts`. */
function limitsScans(sql: string): boolean {
  return /"filigree_(?:few|start)"/.test(sql)
}

/** @returns undefined if the database refuses the statement, as many do without its values */
export async function explain(
  { context }: Database,
  sql: string,
): Promise<readonly Row[] | undefined> {
  try {
    return await context.dialect.tables.scans.explain(context.engine, sql)
  } catch (error) {
    if (error instanceof EngineError) return undefined
    throw error
  }
}

/** Whether the statement has conditions or an order, so that an index can serve it. */
export function filtersOrSorts(sql: string): boolean {
  return /\s(?:where|order by)\s/i.test(sql)
}

/** Whether the statement uses one of these tables, and none of the framework. */
function mentionsTable(sql: string, tables: readonly Table[], { nameOf }: TableSql): boolean {
  return !/filigree_/.test(sql) && tables.some(({ name }) => sql.includes(quoteTable(nameOf(name))))
}

const aliasPattern = /(?:from|join)\s+(?:"(\w+)"\.)?"(\w+)"(?:\s+as\s+"?(\w+)"?)?/gi

/** @returns the table that a query plan calls by this name or alias */
function tableCalled(
  name: string,
  sql: string,
  tables: ReadonlySet<Table>,
  { nameOf }: TableSql,
): Table | undefined {
  for (const [, schema, table = '', alias] of sql.matchAll(aliasPattern))
    if (name === alias || name === table) {
      const fullName = toTableName(schema, table)
      return [...tables].find((one) => nameOf(one.name) === fullName)
    }
  return undefined
}

/**
 * Describes a query that reads all rows of a table, and the index that would serve it.
 *
 * @returns undefined if no condition and no order uses the table's own fields, or only its key
 */
function adviseIndex(table: Table, sql: string, route: string | undefined): string | undefined {
  if (!filtersOrSorts(sql)) return undefined
  const [, conditions = ''] = /\swhere\s(.*)$/is.exec(sql) ?? []
  const [filter = ''] = conditions.split(/\sorder by\s/i)
  const { equal, other } = filteredColumns(filter, table)
  const order = orderTerms(/\sorder by\s(.*)$/is.exec(sql)?.[1] ?? '', table)
  const { name } = table.type
  const sorted = order.map(({ column, descending }) => `${descending ? '-' : ''}${column.property}`)
  const fields = new Set([...[...equal, ...other.slice(0, 1)].map(toProperty), ...sorted])
  if (fields.size === 0) return /"\."/.test(filter) ? describeScan(name, filter, route) : undefined
  const filtered = [...equal, ...other].map(toProperty)
  const clauses = [
    ...(filtered.length > 0 ? [`where ${filtered.join(' and ')}`] : []),
    ...(sorted.length > 0 ? [`ordered by ${sorted.join(', ')}`] : []),
  ]
  const description = `${name}: a list ${clauses.join(', ')}.`
  const [declared] = declaredIndexes(table, equal, other, order)
  if (declared !== undefined)
    return `${description} The index ${declared} serves it. The database does not use the index if it is missing there, or if most rows match.`
  const quoted = [...fields].map((field) => `'${field}'`).join(', ')
  return `${description} @Record({ indexes: [{ fields: [${quoted}] }] }) before class ${name} would serve it.`
}

const toProperty = ({ property }: Column): string => property

/** The names of the record's own indexes that serve the conditions and the order. */
function declaredIndexes(
  table: Table,
  equal: readonly Column[],
  [range, ...tested]: readonly Column[],
  order: readonly OrderTerm[],
): readonly string[] {
  // The database must test further ranges row by row.
  if (tested.length > 0) return []
  const parts: IndexedCondition[] = equal.map((column) => ({ column, role: 'same' }))
  if (range !== undefined) parts.push({ column: range, role: 'range' })
  return servingIndexes(table, range === undefined ? order : [], parts)
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

interface FilteredColumns {
  /** Columns that are compared with one value, or with a list of values. */
  readonly equal: readonly Column[]
  readonly other: readonly Column[]
}

function filteredColumns(filter: string, table: Table): FilteredColumns {
  const equal: Column[] = []
  const other: Column[] = []
  for (const column of table.columns) {
    const found = new RegExp(
      String.raw`"${column.name}"\)?\s*(=|in\b|is null|<=|>=|<|>|like|between)`,
      'i',
    ).exec(filter)
    if (found === null || column.isKey) continue
    const isExact = ['=', 'in', 'is null'].includes(found[1]?.toLowerCase() ?? '')
    ;(isExact ? equal : other).push(column)
  }
  return { equal, other }
}

function orderTerms(text: string, table: Table): OrderTerm[] {
  const terms: OrderTerm[] = []
  for (const [, name, direction] of text.matchAll(
    /"(\w+)"(?:\s+(desc))?(?=\s*(?:,|nulls|limit|asc|desc|$))/gi,
  )) {
    const column = table.columns.find((one) => one.name === name)
    if (column !== undefined && !column.isKey)
      terms.push({ column, descending: direction !== undefined, nullsFirst: false })
  }
  return terms
}

function toLines(cell: unknown): string[] {
  const text = typeof cell === 'string' ? cell : JSON.stringify(cell, null, 1)
  return text.split('\n')
}
