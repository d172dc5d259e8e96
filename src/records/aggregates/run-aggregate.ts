/** Computes an aggregate with one statement. Source: decisions, Second storey: records, Aggregates. */
import { type Later, after, attempt } from '../../core/later.js'
import { Kept } from '../../core/kept.js'
import { FilterReader } from '../filters/filter.js'
import { FilterWriter } from '../filters/filter-sql.js'
import type { Condition } from '../filters/condition.js'
import { EngineFault, type Row } from '../../engines/contract/engine.js'
import { refuseUndefined } from '../filters/list-options.js'
import { readOwn } from '../model/hidden-names.js'
import type { Table } from '../model/table.js'
import { arrange, Slot, type Plan, type RawBuilder } from '../statements/builder.js'
import { boundToShard } from '../statements/shard.js'
import type { RecordsContext, Source } from '../statements/source.js'
import { toClientError } from '../statements/write-faults.js'
import type { AggregateOptions, AggregateRow } from './aggregate-types.js'
import type { Measure, Writing } from './measure.js'
import {
  readAggregate,
  type Aggregate,
  type AggregateTerm,
  type HavingCondition,
} from './read-aggregate.js'

type Fragment = RawBuilder<unknown>

/** @throws {HttpError} 400 `VALIDATION`; 401 or 403 for fields that the view does not allow */
export function runAggregate<T extends object>(
  table: Table<T>,
  source: Source,
  options: AggregateOptions<T>,
): Later<AggregateRow<T>[]> {
  // Large sums are rare, and the SQL that adds them up exactly takes twice as long: it is used only after an overflow.
  return attempt(
    () => readRows(table, source, options, false),
    (error) =>
      attempt(
        () => {
          if (error instanceof EngineFault && error.kind === 'overflow')
            return readRows(table, source, options, true)
          throw error
        },
        (again) => {
          throw toClientError(again, table, 'read')
        },
      ),
  )
}

function readRows<T extends object>(
  table: Table<T>,
  source: Source,
  options: AggregateOptions<T>,
  isLarge: boolean,
): Later<AggregateRow<T>[]> {
  refuseUndefined(options)
  const { where, view } = options
  const { context } = source
  const values: unknown[] = []
  const isClient = view !== undefined
  const reader = new FilterReader(context, isClient, values)
  const read = (): [asked: Condition | undefined, aggregate: Aggregate] => [
    where === undefined ? undefined : reader.read(table, where, 'where'),
    readAggregate(table, options, { context, isClient, values, isLarge }),
  ]
  const [asked, aggregate] = isClient ? read() : readOwn(table, read)
  const bound = view === undefined ? asked : view.bind(table, asked, reader)
  const condition = boundToShard(table, context, reader, bound)
  const terms = aggregate.columns.map((column) => ({
    column,
    descending: false,
    nullsFirst: false,
  }))
  view?.order(table, { terms, key: '' })
  const plan = plansOf(context, table).get(`${reader.key}|${aggregate.key}`, () =>
    planAggregate(table, condition, aggregate, context),
  )
  const rows: Later<readonly Row[]> = source.runner().rows(plan.statement, arrange(plan, values))
  const figures = [...aggregate.groups, ...aggregate.measures]
  return after(rows, (found) => found.map((row) => toObject(row, figures) as AggregateRow<T>))
}

function toObject(row: Row, figures: readonly Measure[]): object {
  return Object.fromEntries(
    figures.map((figure, index) => {
      const value = row[index]
      return [figure.name, value === null || value === undefined ? null : figure.decode(value)]
    }),
  )
}

const plans = new WeakMap<RecordsContext, WeakMap<Table, Kept<Plan>>>()

function plansOf(context: RecordsContext, table: Table): Kept<Plan> {
  let ofContext = plans.get(context)
  if (ofContext === undefined) plans.set(context, (ofContext = new WeakMap()))
  let kept = ofContext.get(table)
  if (kept === undefined) ofContext.set(table, (kept = new Kept(100)))
  return kept
}

function planAggregate(
  table: Table,
  condition: Condition | undefined,
  { groups, measures, having, order, limit }: Aggregate,
  { builder, dialect }: RecordsContext,
): Plan {
  const { sql } = builder
  const writing: Writing = { sql, dialect }
  const writer = new FilterWriter(sql, dialect)
  const tests = [
    ...(condition === undefined ? [] : [writer.write(condition, 't')]),
    ...(table.deletedAt === undefined ? [] : [sql`${writer.ref('t', table.deletedAt)} is null`]),
  ]
  const parts: Fragment[] = [
    sql`select ${sql.join([...groups, ...measures].map((one) => one.answer(writing)))}`,
    sql`from ${sql.table(table.name)} as ${sql.id('t')}`,
  ]
  if (tests.length > 0) parts.push(sql`where ${sql.join(tests, sql` and `)}`)
  if (groups.length > 0)
    parts.push(sql`group by ${sql.join(groups.map((one) => one.write(writing)))}`)
  if (having.length > 0) {
    const written = having.map((one) => writeHaving(one, writing))
    parts.push(sql`having ${sql.join(written, sql` and `)}`)
  }
  if (order.length > 0)
    parts.push(sql`order by ${sql.join(order.map((term) => writeTerm(term, writing)))}`)
  const most = limit === undefined ? sql`` : writer.limit(limit)
  return builder.compile(sql`${sql.join(parts, sql` `)}${most}`, { table: table.name })
}

function writeTerm({ measure, descending, nullsFirst }: AggregateTerm, writing: Writing): Fragment {
  const { sql } = writing
  const rest = `${descending ? ' desc' : ' asc'}${nullsFirst ? ' nulls first' : ' nulls last'}`
  return sql`${measure.write(writing)}${sql.raw(rest)}`
}

const signs = { eq: '=', ne: 'is distinct from', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

function writeHaving(
  { measure, operator, isNull, slot }: HavingCondition,
  writing: Writing,
): Fragment {
  const { sql } = writing
  const figure = measure.write(writing)
  if (isNull !== undefined) return sql`${figure} ${sql.raw(isNull ? 'is null' : 'is not null')}`
  if (operator === 'isNull') throw new TypeError('isNull compares with no value.')
  return sql`${figure} ${sql.raw(signs[operator])} ${sql.val(new Slot(slot))}`
}
