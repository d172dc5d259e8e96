/** The operators of filters, compared with their table in docs/records/queries.md. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { type ColumnComparison } from '../../src/engines/contract/table.js'
import { operatorOf, operators, type Operator } from '../../src/sql/operators.js'

const root = new URL('../../', import.meta.url)
const page = readFileSync(new URL('docs/records/queries.md', root), 'utf8')
const names = Object.keys(operators) as Operator[]

const columnNames: Readonly<Record<ColumnComparison, string>> = {
  nothing: 'all',
  equality: 'truth values, bytes',
  order: 'numbers, dates',
  text: 'text',
  list: 'lists',
  json: 'JSON',
}

/** The columns of an operator, in the words of the page. */
function columnsOf(name: Operator): string {
  const { fits } = operatorOf(name)
  if (fits.length === Object.keys(columnNames).length) return 'all'
  if (fits.includes('equality')) return 'all but lists'
  return fits.map((one) => columnNames[one]).join(', ')
}

describe('operators', () => {
  it.each(names)('docs/records/queries.md describes %s as the table does', (name) => {
    const cells = [`\`${name}\``, columnsOf(name), operatorOf(name).meaning]
    const rows = page.split('\n').map((row) => row.split('|').map((cell) => cell.trim()))
    expect(rows.find((row) => row[1] === cells[0])?.slice(1, 4)).toEqual(cells)
  })

  it.each(names)('%s has its own SQL exactly if it compares with one value', (name) => {
    const { operand, sql, cost } = operatorOf(name)
    expect(sql === undefined).toBe(['list', 'values', 'flag'].includes(operand))
    expect(cost).toBeGreaterThanOrEqual(1)
  })
})
