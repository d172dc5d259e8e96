/**
 * Declares `productsAggregate(where, groupBy, groupByTime, having, orderBy, limit)`: a list of groups, each with its key under its own
 * name, and what is made of its rows. Source: decisions, Second storey: records, Aggregates.
 */

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
import {
  type Arguments,
  type ArgumentDeclaration,
  type FieldDeclaration,
  type TypeDeclaration,
  generatedKey,
} from '../declarations.js'
import { collectFields } from '../collect-fields.js'
import {
  figuresOf,
  groupsOf,
  readGroups,
  readTimeGroups,
  titled,
  timeGroupsOf,
  type Figure,
} from './aggregate-names.js'
import type { FieldModel, RecordModel } from './model.js'
import { outputOf } from './output.js'
import { QuestionReader } from './query-reader.js'
import type { RecordServices } from './resolve-records.js'
import { timeUnits } from '../../engines/contract/dialect.js'
import { havingOperators } from '../../records/aggregates/read-aggregate.js'
import { operatorOf, operatorsFor, type OperandKind } from '../../sql/operators.js'
import type { Column } from '../../engines/contract/table.js'

/** Answers `productsAggregate` by one statement, which makes what is selected and nothing else. */

interface Asking {
  readonly args: Arguments
  readonly context: unknown
  readonly info: GraphQLResolveInfo
}

/** @throws {HttpError} 400 `VALIDATION`; 401 or 403 for what the caller may not read */
function resolveAggregate(
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
function aggregatedOutput(
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

/** The query of a record. */
export function declareAggregate(
  model: RecordModel,
  services: RecordServices,
): [string, FieldDeclaration] {
  const { name, many, access } = model
  return [
    `${many}Aggregate`,
    {
      type: `[${name}Aggregate!]`,
      description: 'One row without groupBy, else one for each group; nulls are a group, and last.',
      args: {
        where: `${name}Where`,
        ...(groupsOf(model).length > 0 ? { groupBy: `[${name}Group!]` } : {}),
        ...(timeGroupsOf(model).length > 0 ? { groupByTime: `[${name}TimeGroup!]` } : {}),
        having: `${name}Having`,
        orderBy: `[${name}AggregateOrder!]`,
        limit: 'Int',
      },
      access,
      extensions: { [generatedKey]: { kind: 'aggregate', model } },
      resolve: (_root, args, context, info) =>
        resolveAggregate(model, services, { args, context, info }),
    },
  ]
}

/** The types of a record's aggregates. */
export function declareAggregateTypes(model: RecordModel): [string, TypeDeclaration][] {
  const { name } = model
  const figures = figuresOf(model)
  const groups = groupsOf(model)
  const types: [string, TypeDeclaration][] = [
    [`${name}Aggregate`, declareRow(model, groups, figures)],
    [`${name}Having`, declareHaving(figures)],
    [`${name}AggregateOrder`, declareOrder(groups, figures)],
  ]
  for (const called of aggregateFunctions) {
    const own = figures.filter((one) => one.called === called)
    if (own.length === 0) continue
    const fields = Object.fromEntries(own.map((one) => [one.field.name, declareFigure(one)]))
    const description = `${meanings[called]} of ${name}, by field.`
    types.push([`${name}${titled(called)}`, { kind: 'object', fields, description }])
  }
  const names = groups.map((group) => group.name).join(', ')
  if (groups.length > 0)
    types.push([`${name}Group`, { kind: 'scalar', description: `The name of a field: ${names}.` }])
  const times = timeGroupsOf(model).map((group) => group.name)
  if (times.length > 0) types.push([`${name}TimeGroup`, declareTimeGroup(name, times.join(', '))])
  return types
}

function declareTimeGroup(name: string, fields: string): TypeDeclaration {
  return {
    kind: 'input',
    fields: {
      field: { type: `${name}Group!`, description: `One of ${fields}.` },
      by: { type: 'TimeUnit!', description: 'How long a group is.' },
      zone: { type: 'String', description: 'The time zone, `Europe/Berlin`. Default UTC.' },
    },
    description:
      'Groups by local time. The value is the first day, `2026-11-16`, or the hour, `2026-11-16T10:00:00+01:00`.',
  }
}

const timeUnit: TypeDeclaration = {
  kind: 'enum',
  values: Object.fromEntries(timeUnits.map((unit) => [unit.toUpperCase(), unit])),
  meanings: {
    HOUR: 'An hour; one that autumn has twice is two.',
    DAY: 'A day.',
    WEEK: 'A week, from Monday.',
    MONTH: 'A month.',
    QUARTER: 'A quarter of a year.',
    YEAR: 'A year.',
  },
  description: 'How long a group of time is.',
}

const meanings: Readonly<Record<AggregateFunction, string>> = {
  sum: 'Sums',
  avg: 'Means',
  min: 'Smallest values',
  max: 'Largest values',
}

/** What all records' aggregates are compared with. */
export function declareAggregateTest(): [string, TypeDeclaration][] {
  const description = 'A number, or what the field itself is: text for decimals.'
  const declare = (compares: 'order' | 'text', description: string): TypeDeclaration => {
    const fields: Record<string, ArgumentDeclaration> = {}
    for (const operator of operatorsFor(compares)) {
      const { operand, meaning } = operatorOf(operator)
      fields[operator] = { type: operandTypes[operand], description: meaning }
    }
    return { kind: 'input', fields, description }
  }
  return [
    ['AggregateTest', declare('order', 'Compares a figure with values.')],
    [
      'AggregateTextTest',
      declare('text', 'Compares the smallest or the largest text with values.'),
    ],
    ['AggregateOperand', { kind: 'scalar', description }],
    ['TimeUnit', timeUnit],
  ]
}

const operandTypes: Readonly<Record<OperandKind, string>> = {
  value: 'AggregateOperand',
  item: 'AggregateOperand',
  list: '[AggregateOperand]',
  values: '[AggregateOperand!]',
  pattern: 'String',
  part: 'String',
  flag: 'Boolean',
}

function declareRow(
  { name }: RecordModel,
  groups: readonly FieldModel[],
  figures: readonly Figure[],
): TypeDeclaration {
  const fields: Record<string, FieldDeclaration> = {}
  for (const group of groups) {
    fields[group.name] = {
      type: group.type,
      description: 'Of groups by it.',
      resolve: aggregatedOutput(group),
    }
  }
  fields.count = {
    type: 'Int',
    description: 'The number of rows.',
    resolve: (row) => (row as { count?: number }).count,
  }
  for (const called of aggregateFunctions) {
    if (!figures.some((one) => one.called === called)) continue
    fields[called] = { type: `${name}${titled(called)}`, resolve: (row) => row }
  }
  return { kind: 'object', fields, description: `What is made of a group of ${name}.` }
}

function declareFigure({ called, field }: Figure): FieldDeclaration {
  const isOwn = called === 'min' || called === 'max'
  return {
    type: isOwn ? field.type : numberType(called, field),
    description: `Of ${field.name}; null where no row has a value.`,
    resolve: aggregatedOutput(field, called),
  }
}

/** Sums outgrow the fields that they are of. */
function numberType(called: AggregateFunction, field: FieldModel): string {
  const { storage } = field.column
  // Where there is such a filter there is the type.
  if (storage === 'integer' && called === 'sum' && field.filter === 'IntFilter') return 'Integer'
  return storage === 'decimal' || (storage === 'wide' && called === 'sum') ? 'String' : 'Float'
}

function declareHaving(figures: readonly Figure[]): TypeDeclaration {
  const fields: Record<string, ArgumentDeclaration> = {}
  const declare = (name: string, column?: Column): void => {
    const type = havingOperators(column).includes('like') ? 'AggregateTextTest' : 'AggregateTest'
    fields[name] = { type, description: `What ${name} must be.` }
  }
  declare('count')
  for (const { name, field } of figures) declare(name, field.column)
  return { kind: 'input', fields, description: 'Only groups of which all of it holds.' }
}

function declareOrder(groups: readonly FieldModel[], figures: readonly Figure[]): TypeDeclaration {
  const fields: Record<string, ArgumentDeclaration> = {}
  for (const name of ['count', ...[...groups, ...figures].map((one) => one.name)])
    fields[name] = { type: 'SortDirection', description: `By ${name}.` }
  return { kind: 'input', fields, description: 'One figure or group; several orders make a list.' }
}
