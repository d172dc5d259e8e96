/** Computes an aggregate with one statement. */
import { type MaybePromise, after, attempt } from '../../core/maybe-promise.js'
import { FilterReader } from '../filters/filter.js'
import type { Condition, Table } from '../model/table.js'
import type { Row } from '../../engines/contract/engine.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import { checkFilterOptions, type RowsView, type Slots } from '../filters/list-options.js'
import { readProgramQuery } from '../filters/query-errors.js'
import { arrangeValues } from '../../sql/write-statement.js'
import { boundToShard } from '../statements/shard.js'
import type { Source } from '../statements/source.js'
import { findStoredValue } from '../statements/malformed-values.js'
import { toClientError } from '../statements/client-errors.js'
import { refusedOfStatement } from '../statements/refused-values.js'
import type { AggregateOptions, AggregateRow } from './aggregate-types.js'
import { bindGroup, isRelated } from './group-path.js'
import type { Measure } from './measure.js'
import { readAggregate, type Aggregate } from './read-aggregate.js'

/** @throws {HttpError} 400 `VALIDATION`; 401 or 403 for fields that the view does not allow */
export function runAggregate<T extends object>(
  table: Table<T>,
  source: Source,
  options: AggregateOptions<T>,
): MaybePromise<AggregateRow<T>[]> {
  // Large sums are rare, and the SQL that adds them up exactly takes twice as long: it is used only after an overflow.
  return attempt(
    () => readRows(table, source, options, false),
    (error) =>
      attempt(
        () => {
          if (error instanceof EngineError && error.kind === 'overflow')
            return readRows(table, source, options, true)
          throw error
        },
        (retryError) =>
          after(findStoredValue(table, source, retryError), (found) => {
            throw toClientError(found, table, 'read')
          }),
      ),
  )
}

function readRows<T extends object>(
  table: Table<T>,
  source: Source,
  options: AggregateOptions<T>,
  isLarge: boolean,
): MaybePromise<AggregateRow<T>[]> {
  checkFilterOptions(options)
  const { where, view } = options
  const { context } = source
  const values: unknown[] = []
  const isClient = view !== undefined
  const reader = new FilterReader(context, isClient, values)
  const read = (): [filter: Condition | undefined, aggregate: Aggregate] => [
    where === undefined ? undefined : reader.read(table, where, 'where'),
    readAggregate(table, options, { context, isClient, values, isLarge }),
  ]
  const [filter, aggregate] = isClient ? read() : readProgramQuery(table, read)
  const bound = view === undefined ? filter : view.bind(table, filter, reader)
  const condition = boundToShard(table, context, reader, bound)
  for (const column of aggregate.columns) view?.checkColumn(table, column)
  const { groups, order } = view === undefined ? aggregate : bindGroups(aggregate, view, reader)
  const { measures, having, limit, orderError } = aggregate
  if (orderError !== undefined) throw orderError
  const plan = context.plansOf(table).get(`g${reader.key}|${aggregate.key}`, () => ({
    query: 'aggregate',
    rows: { table, where: condition, limit },
    aggregates: { groups, measures, having, order },
  }))
  const sent = arrangeValues(plan, values)
  const rows = attempt<readonly Row[]>(
    () => source.runner().run(plan.statement, sent, 'rows'),
    (error) => {
      if (!(error instanceof EngineError) || error.kind !== 'value') throw error
      const refused = refusedOfStatement(source, plan.statement, sent)
      throw toClientError(error, table, 'read', { refused })
    },
  )
  const resultColumns = [...groups, ...measures]
  return after(rows, (found) => found.map((row) => toObject(row, resultColumns) as AggregateRow<T>))
}

function bindGroups(
  { groups, order }: Aggregate,
  view: RowsView,
  slots: Slots,
): Pick<Aggregate, 'groups' | 'order'> {
  if (!groups.some(isRelated)) return { groups, order }
  const bound = groups.map((group) => bindGroup(group, view, slots))
  return {
    groups: bound,
    order: order.map((term) => ({
      ...term,
      measure: bound[groups.indexOf(term.measure)] ?? term.measure,
    })),
  }
}

function toObject(row: Row, resultColumns: readonly Measure[]): object {
  return Object.fromEntries(
    resultColumns.map((measure, index) => {
      const value = row[index]
      return [measure.name, value === null || value === undefined ? null : measure.decode(value)]
    }),
  )
}
