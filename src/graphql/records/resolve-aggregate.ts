/** Answers `productsAggregate` by one statement, which makes what is selected and nothing else. */
import type { FieldNode, GraphQLResolveInfo } from 'graphql'
import type { Later } from '../../core/maybe-promise.js'
import {
  aggregateFunctions,
  type AggregateFunction,
  type AggregateOptions,
} from '../../records/aggregates/aggregate-types.js'
import { nameOf } from '../../records/aggregates/measure.js'
import { isPlainObject } from '../../core/json.js'
import { invalid } from '../../records/filters/invalid.js'
import { type Caller, asked } from '../../records/rights/caller.js'
import { ClientView } from '../../records/policy/client-view.js'
import { callerOf } from '../caller.js'
import type { Arguments } from '../declarations.js'
import { collectFields } from '../collect-fields.js'
import { figuresOf, groupsOf, readGroups, readTimeGroups, titled } from './aggregate-names.js'
import type { FieldModel, RecordModel } from './model.js'
import { outputOf } from './output.js'
import { QuestionReader } from './question.js'
import type { RecordServices } from './resolve-records.js'

interface Asking {
  readonly args: Arguments
  readonly context: unknown
  readonly info: GraphQLResolveInfo
}

/** @throws {HttpError} 400 `VALIDATION`; 401 or 403 for what the caller may not read */
export function resolveAggregate(
  model: RecordModel,
  services: RecordServices,
  asking: Asking,
): Later<readonly object[]> {
  return asked(model.table, callerOf(asking.context), (caller) =>
    readAggregate(model, services, asking, caller),
  )
}

function readAggregate(
  model: RecordModel,
  { database, listMax }: RecordServices,
  { args, info }: Asking,
  caller: Caller,
): Later<readonly object[]> {
  const opened = database()
  const reader = new QuestionReader({ database: opened, caller, listMax })
  const options = {
    ...(!isNothing(args.where) && { where: reader.translate(model, args.where) }),
    groupBy: [
      ...readGroups(model, args.groupBy, 'groupBy'),
      ...readTimeGroups(model, args.groupByTime),
    ],
    having: readHaving(model, args.having),
    orderBy: readOrder(model, args.orderBy),
    limit: isNothing(args.limit) ? listMax : reader.most('limit', args.limit),
    view: new ClientView({ context: opened.context, caller, log: opened.log }),
    ...readSelected(model, info),
  } as unknown as AggregateOptions<object>
  const { request } = caller
  const records =
    request === undefined ? opened.records(model.type) : opened.recordsFor(model.type, request)
  return records.aggregate(options)
}

/** @returns what gives a group's key, or a figure, as GraphQL has it */
export function aggregatedOutput(
  field: FieldModel,
  called?: AggregateFunction,
): (row: unknown) => unknown {
  // Sums and means outgrow their field.
  const isOwn = called === undefined || called === 'min' || called === 'max'
  const own = outputOf(isOwn || field.form !== 'int' ? field : { ...field, form: 'integer' })
  const { column } = field
  const name = called === undefined ? column.property : nameOf(called, column)
  // A group by time is a date or a local hour, not a value of the field.
  const isTime = called === undefined && column.field.kind === 'datetime'
  return (row) => {
    const value = (row as Readonly<Record<string, unknown>>)[name]
    if (isNothing(value)) return null
    return isTime ? value : own({ [column.property]: value })
  }
}

/** What is selected, fragments expanded, `@skip` and `@include` heeded. */
function readSelected(model: RecordModel, info: GraphQLResolveInfo): Record<string, unknown> {
  const { fragments, variableValues, fieldNodes } = info
  const collecting = { fragments, conditions: variableValues as Record<string, boolean> }
  const figures = figuresOf(model)
  const asked: Record<string, unknown> & Partial<Record<AggregateFunction, string[]>> = {
    count: false,
  }
  for (const group of collectFields(fieldNodes, [`${model.name}Aggregate`], collecting).values()) {
    const name = nameOfNode(group)
    if (name === 'count') asked.count = true
    const called = aggregateFunctions.find((each) => each === name)
    if (called === undefined) continue
    const inner = collectFields(group, [`${model.name}${titled(called)}`], collecting).values()
    const names = new Set([...inner].map(nameOfNode))
    const own = figures.filter((one) => one.called === called && names.has(one.field.name))
    const properties = own.map(({ field }) => field.column.property)
    asked[called] = [...(asked[called] ?? []), ...properties]
  }
  return asked
}

function nameOfNode([node]: readonly [FieldNode, ...FieldNode[]]): string {
  return node.name.value
}

/** From GraphQL's names to the record's. */
function readHaving(model: RecordModel, given: unknown): object {
  if (!isPlainObject(given)) return {}
  return Object.fromEntries(
    Object.entries(given)
      .filter(([, test]) => !isNothing(test))
      .map(([name, test]) => [propertyOf(model, name), test]),
  )
}

function readOrder(model: RecordModel, given: unknown): object[] {
  if (isNothing(given)) return []
  return (given as unknown[]).map((term, index) => {
    const names = isPlainObject(term) ? Object.keys(term) : []
    const [name] = names
    if (name === undefined || names.length > 1)
      throw invalid(`orderBy.${index}`, 'type', 'must name one figure or group')
    return { [propertyOf(model, name)]: (term as Record<string, unknown>)[name] }
  })
}

/** Of a group, or of a figure such as `sumPrice`. */
function propertyOf(model: RecordModel, name: string): string {
  const group = groupsOf(model).find((one) => one.name === name)
  if (group !== undefined) return group.column.property
  const figure = figuresOf(model).find((one) => one.name === name)
  return figure === undefined ? name : nameOf(figure.called, figure.field.column)
}

function isNothing(value: unknown): value is null | undefined {
  return value === null || value === undefined
}
