/** Describes a query that reads a whole table by its conditions, and the index that would serve it. */
import type { Table } from '../model/table.js'

const alias = /(?:from|join)\s+"(\w+)"(?:\s+as\s+"?(\w+)"?)?/gi

/** @returns the table that a query plan names so */
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

/** Of a condition that names no field of the record that an index could begin with. */
function describeScan(name: string, condition: string, route: string | undefined): string {
  const routeText = route === undefined ? '' : ` for ${route}`
  const isRelated = /exists \(select/i.test(condition)
  const fix = isRelated
    ? 'An index of the related field that it compares lets the database begin there, unless many rows share its values.'
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
