/**
 * Reads a query as an aggregate and runs it, with groups of values or of local time (`groupBy=createdAt:week&zone=…`):
 * `/items/aggregate?groupBy=categoryId&count=true&sum=price&having.count.gte=2`
 * `&orderBy=-sumPrice&limit=10&active=true`. Source: decisions, Records: queries.
 */
import { timeUnits } from '../../engines/contract/dialect.js'
import type { Column } from '../../engines/contract/table.js'
import type { TextValues } from '../../http/query-string.js'
import { readOperator } from '../../sql/operators.js'
import {
  aggregateFunctions,
  type AggregateOptions,
  type TimeGrouping,
} from '../aggregates/aggregate-types.js'
import { countGroupRelations, findGroupColumn } from '../aggregates/group-path.js'
import { nameOf } from '../aggregates/measure.js'
import { readZone } from '../aggregates/zone-offsets.js'
import type { ClientRecords } from '../clients/client-records.js'
import type { FieldOrder } from '../filters/order.js'
import { invalid } from '../filters/query-errors.js'
import type { Table } from '../model/table.js'
import { readCount, readNames, readOnce, readOrderBy, readWhere } from './crud-query.js'
import { findAggregateValues, readFlag, readOperandText } from './operand-values.js'
import { isInput, largestLimit } from '../clients/operation-inputs.js'

interface AggregateQuery {
  readonly where: Record<string, unknown>
  readonly groupBy: readonly (string | TimeGrouping<Record<string, string>>)[]
  readonly count: boolean | undefined
  readonly functions: Readonly<Record<string, readonly string[]>>
  readonly having: Record<string, unknown> | undefined
  readonly orderBy: FieldOrder[]
  readonly limit: number
}

/** @throws {HttpError} 400 `VALIDATION`, with the parameter's name as path */
export function readAggregateQuery(table: Table, query: TextValues): AggregateQuery {
  const groups = readNames('groupBy', query.groupBy) ?? []
  const isTimed = groups.some((group) => group.includes(':'))
  // Without groups of time, `zone` is a field's name or unknown.
  const isOther = (name: string): boolean =>
    name === 'zone' ? isTimed : isInput(table, 'aggregate', name) || name.startsWith('having.')
  return {
    where: readWhere(table, query, isOther),
    groupBy: groups.map((group) => readGroup(group, isTimed ? query.zone : undefined)),
    count: query.count === undefined ? undefined : readFlag('count', query.count),
    functions: Object.fromEntries(
      aggregateFunctions.map((name) => [name, readNames(name, query[name]) ?? []]),
    ),
    having: readHaving(table, query),
    orderBy: readOrderBy(query.orderBy),
    limit: readCount('limit', query.limit, largestLimit, largestLimit),
  }
}

/** The rows of an aggregate in their JSON form. */
export async function aggregateRows(
  table: Table,
  records: ClientRecords<object>,
  { functions, count, having, orderBy, ...query }: AggregateQuery,
): Promise<object[]> {
  const havingOption = having === undefined ? {} : { having }
  const merged = { count, orderBy, ...havingOption, ...query, ...functions }
  const options = merged as unknown as AggregateOptions<object>
  const rows = await records.aggregate(options)
  const timed = query.groupBy.map((group) => (typeof group === 'string' ? '' : group.field))
  const writers = writersOf(table)
  for (const name of groupNames(query.groupBy)) {
    const write = name.includes('.') && findGroupColumn(table, name)?.field.entry.write
    if (typeof write === 'function') writers.set(name, write)
  }
  for (const name of timed) writers.delete(name)
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row as Record<string, unknown>).map(([name, value]) => {
        const write = writers.get(name)
        return [name, write === undefined || value === null ? value : write(value)]
      }),
    ),
  )
}

/** `status`, `createdAt:week` */
function readGroup(
  text: string,
  zoneText: string | string[] | undefined,
): string | TimeGrouping<Record<string, string>> {
  const [field = '', by, ...more] = text.split(':')
  if (by === undefined) return field
  const unit = timeUnits.find((one) => one === by)
  if (unit === undefined || more.length > 0)
    throw invalid('groupBy', 'oneOf', `must name one of ${timeUnits.join(', ')} after the colon`)
  const zone = readOnce('zone', zoneText) ?? 'UTC'
  if (readZone(zone) === undefined)
    throw invalid('zone', 'zone', 'must be a time zone such as Europe/Berlin')
  return { field, by: unit, zone }
}

function groupNames(groupBy: AggregateQuery['groupBy']): string[] {
  return groupBy.map((group) => (typeof group === 'string' ? group : group.field))
}

/** The number of relations that lead to the fields of groups, for the cost. */
export function groupRelationsOf({ groupBy }: AggregateQuery): number {
  return countGroupRelations(groupNames(groupBy))
}

type Write = (value: unknown) => unknown

/** Functions that write values whose JSON form differs, by the name of the aggregate. */
function writersOf({ columns }: Table): Map<string, Write> {
  const writers = new Map<string, Write>()
  for (const column of columns) {
    const { write } = column.field.entry
    if (write === undefined) continue
    for (const name of namesOf(column)) writers.set(name, write)
  }
  return writers
}

function namesOf(column: Column): string[] {
  return [column.property, ...aggregateFunctions.map((called) => nameOf(called, column))]
}

/** `having.sumPrice.gte=100` */
function readHaving(table: Table, query: TextValues): Record<string, unknown> | undefined {
  // Clients choose the names. On a plain object, a name could reach the prototype.
  const having = Object.create(null) as Record<string, Record<string, unknown>>
  for (const name of Object.keys(query)) {
    if (!name.startsWith('having.')) continue
    const [, aggregate = '', operator = 'eq', ...more] = name.split('.')
    if (more.length > 0) throw invalid(name, 'unknown', 'is not a comparison')
    const tests = (having[aggregate] ??= Object.create(null) as Record<string, unknown>)
    const values = findAggregateValues(table, aggregate)
    const knownOperator = readOperator(operator)
    // An unknown aggregate or comparison is refused where `having` is read.
    tests[operator] =
      values === undefined || knownOperator === undefined
        ? query[name]
        : readOperandText(values, knownOperator, name, query)
  }
  return Object.keys(having).length === 0 ? undefined : having
}
