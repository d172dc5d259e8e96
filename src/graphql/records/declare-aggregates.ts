/**
 * Declares and resolves `productsAggregate(where, groupBy, groupByTime, having, orderBy, limit)`: a list of groups with
 * their keys and aggregates. Source: decisions, Records: queries.
 */

import type { FieldNode, GraphQLResolveInfo } from 'graphql'
import { after, type MaybePromise } from '../../core/maybe-promise.js'
import {
  aggregateFunctions,
  type AggregateFunction,
  type AggregateOptions,
} from '../../records/aggregates/aggregate-types.js'
import { nameOf } from '../../records/aggregates/measure.js'
import { prepareZones } from '../../records/aggregates/zone-offsets.js'
import { isPlainObject } from '../../core/json.js'
import { invalid } from '../../records/filters/query-errors.js'
import { type Caller, withGuards } from '../../records/rights/caller.js'
import { ClientView } from '../../records/policy/client-view.js'
import { callerOf } from '../operation-caller.js'
import {
  type FieldArguments,
  type ArgumentDeclaration,
  type GraphqlField,
  type TypeDeclaration,
  generatedKey,
} from '../declarations.js'
import { collectFields } from '../collect-fields.js'
import {
  aggregateFieldsOf,
  groupRelationsOf,
  groupsOf,
  hasTimeGroups,
  readGroups,
  readTimeGroups,
  timeGroupsOf,
  type AggregateField,
} from './names.js'
import { titled } from '../type-notation.js'
import type { FieldModel, RecordModel } from './model.js'
import { outputOf } from './field-output.js'
import type { RecordServices } from './resolve-records.js'
import { QueryReader } from './query-reader.js'
import { timeUnits } from '../../engines/contract/dialect.js'
import { havingOperators } from '../../records/aggregates/read-aggregate.js'
import { declareArguments } from './declare-arguments.js'
import { declareFilter } from './declare-inputs.js'
import type { Column } from '../../engines/contract/table.js'

interface AggregateRequest {
  readonly args: FieldArguments
  readonly context: unknown
  readonly info: GraphQLResolveInfo
}

/**
 * Runs one statement that computes only the selected aggregates.
 *
 * @throws {HttpError} 400 `VALIDATION`; 401 or 403 for fields that the caller may not read
 */
function resolveAggregate(
  model: RecordModel,
  services: RecordServices,
  request: AggregateRequest,
): MaybePromise<readonly object[]> {
  return withGuards(model.table, callerOf(request.context), (caller) =>
    readAggregate(model, services, request, caller),
  )
}

function readAggregate(
  model: RecordModel,
  { database, listMax }: RecordServices,
  { args, info }: AggregateRequest,
  caller: Caller,
): MaybePromise<readonly object[]> {
  const opened = database()
  const reader = new QueryReader({ database: opened, caller, listMax })
  const timeGroups = readTimeGroups(model, args.groupByTime)
  const options = {
    ...(!isNil(args.where) && { where: reader.translate(model, args.where) }),
    groupBy: [...readGroups(model, args.groupBy, 'groupBy'), ...timeGroups],
    having: readHaving(model, args.having),
    orderBy: readOrder(model, args.orderBy),
    limit: isNil(args.limit) ? listMax : reader.readLimit('limit', args.limit),
    view: new ClientView({ context: opened.context, caller, log: opened.log }),
    ...readSelected(model, info),
  } as unknown as AggregateOptions<object>
  const { request } = caller
  const records =
    request === undefined ? opened.records(model.type) : opened.recordsFor(model.type, request)
  const zones = timeGroups.map(({ zone = 'UTC' }) => zone)
  return after(prepareZones(zones), () => records.aggregate(options))
}

/** @returns a resolver for the key of a group or for an aggregate */
function aggregatedOutput(
  field: FieldModel,
  aggregate?: AggregateFunction,
): (row: unknown) => unknown {
  const isOfField = aggregate === undefined || hasTypeOfField(aggregate)
  const write = outputOf(isOfField || field.form !== 'int' ? field : { ...field, form: 'integer' })
  const { column } = field
  const name = aggregate === undefined ? column.property : nameOf(aggregate, column)
  // The key of a group by time is a date or a local hour, not a value of the field.
  const isTime = aggregate === undefined && column.field.kind === 'datetime'
  return (row) => {
    const value = (row as Readonly<Record<string, unknown>>)[name]
    if (isNil(value)) return null
    return isTime ? value : write({ [column.property]: value })
  }
}

/** The selected aggregates, in the form of `AggregateOptions`. */
function readSelected(model: RecordModel, info: GraphQLResolveInfo): Record<string, unknown> {
  const { fragments, variableValues, fieldNodes } = info
  const collecting = { fragments, conditions: variableValues as Record<string, boolean> }
  const aggregateFields = aggregateFieldsOf(model)
  const selected: Record<string, unknown> & Partial<Record<AggregateFunction, string[]>> = {}
  for (const group of collectFields(fieldNodes, [`${model.name}Aggregate`], collecting).values()) {
    const name = nameOfNode(group)
    if (name === 'count') selected.count = true
    const aggregate = aggregateFunctions.find((each) => each === name)
    if (aggregate === undefined) continue
    const inner = collectFields(group, [`${model.name}${titled(aggregate)}`], collecting).values()
    const names = new Set([...inner].map(nameOfNode))
    const fieldsOfFunction = aggregateFields.filter(
      (one) => one.aggregate === aggregate && names.has(one.field.name),
    )
    const properties = fieldsOfFunction.map(({ field }) => field.column.property)
    selected[aggregate] = [...(selected[aggregate] ?? []), ...properties]
  }
  return selected
}

function nameOfNode([node]: readonly [FieldNode, ...FieldNode[]]): string {
  return node.name.value
}

/** Converts the names in `having` to the names of the record. */
function readHaving(model: RecordModel, input: unknown): object {
  if (!isPlainObject(input)) return {}
  return Object.fromEntries(
    Object.entries(input)
      .filter(([, test]) => !isNil(test))
      .map(([name, test]) => [propertyOf(model, name), test]),
  )
}

function readOrder(model: RecordModel, input: unknown): object[] {
  if (isNil(input)) return []
  return (input as unknown[]).map((term, index) => {
    const names = isPlainObject(term) ? Object.keys(term) : []
    const [name] = names
    if (name === undefined || names.length > 1)
      throw invalid(`orderBy.${index}`, 'type', 'must name one aggregate or group')
    const direction = (term as Record<string, unknown>)[name]
    return { [propertyOf(model, name)]: toOrder(model, name, direction) }
  })
}

/** Converts the names of an order by a related record to the names of its record. */
function toOrder(model: RecordModel, name: string, direction: unknown): unknown {
  const target = groupRelationsOf(model).find((one) => one.name === name)?.target
  if (target === undefined || !isPlainObject(direction)) return direction
  return Object.fromEntries(
    Object.entries(direction).map(([inner, value]) => [
      propertyOf(target, inner),
      toOrder(target, inner, value),
    ]),
  )
}

/** The record's name of a group, or of an aggregate such as `sumPrice`. */
function propertyOf(model: RecordModel, name: string): string {
  const group = groupsOf(model).find((one) => one.name === name)
  if (group !== undefined) return group.column.property
  const relation = groupRelationsOf(model).find((one) => one.name === name)
  if (relation !== undefined) return relation.relation.name
  const aggregateField = aggregateFieldsOf(model).find((one) => one.name === name)
  return aggregateField === undefined
    ? name
    : nameOf(aggregateField.aggregate, aggregateField.field.column)
}

function isNil(value: unknown): value is null | undefined {
  return value === null || value === undefined
}

/** The aggregate query of a record. */
export function declareAggregate(
  model: RecordModel,
  services: RecordServices,
): [string, GraphqlField] {
  const { name, plural, access } = model
  return [
    `${plural}Aggregate`,
    {
      type: `[${name}Aggregate!]`,
      description:
        'One row for each group, or one row without groupBy. Nulls form a group, which comes last.',
      args: declareArguments(model, 'aggregate'),
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
  const aggregateFields = aggregateFieldsOf(model)
  const groups = groupsOf(model)
  const types: [string, TypeDeclaration][] = [
    [`${name}Aggregate`, declareRow(model, groups, aggregateFields)],
    [`${name}Having`, declareHaving(aggregateFields)],
    [`${name}AggregateOrder`, declareOrder(model, groups, aggregateFields)],
    [`${name}GroupKey`, declareKeys(model, groups)],
  ]
  for (const aggregate of aggregateFunctions) {
    const fieldsOfFunction = aggregateFields.filter((one) => one.aggregate === aggregate)
    if (fieldsOfFunction.length === 0) continue
    const fields = Object.fromEntries(
      fieldsOfFunction.map((one) => [one.field.name, declareAggregateField(one)]),
    )
    const description = `${meanings[aggregate]} of ${name}, by field.`
    types.push([`${name}${titled(aggregate)}`, { kind: 'object', fields, description }])
  }
  const names = groups.map((group) => group.name).join(', ')
  const [related] = groupRelationsOf(model)
  const description = `The name of a field: ${names}.${related === undefined ? '' : ` A field of a record that it belongs to is written with its relation: ${related.name}_id.`}`
  if (groups.length > 0) types.push([`${name}Group`, { kind: 'scalar', description }])
  const times = timeGroupsOf(model).map((group) => group.name)
  if (hasTimeGroups(model)) types.push([`${name}TimeGroup`, declareTimeGroup(name, times)])
  return types
}

function declareTimeGroup(name: string, times: readonly string[]): TypeDeclaration {
  const ofRelated = 'A field of a record that it belongs to is written with its relation.'
  const own = times.length === 0 ? '' : `One of ${times.join(', ')}. `

  return {
    kind: 'input',
    fields: {
      field: { type: `${name}Group!`, description: `${own}${ofRelated}` },
      by: { type: 'TimeUnit!', description: 'The length of the groups.' },
      zone: { type: 'String', description: 'The time zone, `Europe/Berlin`. Default UTC.' },
    },
    description:
      'Groups by local time. The key of a group is its first day, `2026-11-16`, or its hour, `2026-11-16T10:00:00+01:00`.',
  }
}

const timeUnit: TypeDeclaration = {
  kind: 'enum',
  values: Object.fromEntries(timeUnits.map((unit) => [unit.toUpperCase(), unit])),
  meanings: {
    HOUR: 'An hour. The hour that occurs twice in autumn makes two groups.',
    DAY: 'A day.',
    WEEK: 'A week, from Monday.',
    MONTH: 'A month.',
    QUARTER: 'A quarter of a year.',
    YEAR: 'A year.',
  },
  description: 'The length of groups by time.',
}

const meanings: Readonly<Record<AggregateFunction, string>> = {
  sum: 'Sums',
  avg: 'Averages',
  min: 'Smallest values',
  max: 'Largest values',
}

/** The types of `having` and of groups by time, which all records share. */
export function declareSharedAggregateTypes(): [string, TypeDeclaration][] {
  const description =
    'A number, or a value of the type of the field, such as a string for decimals.'
  const declare = (compares: 'order' | 'text', about: string): TypeDeclaration =>
    declareFilter('AggregateOperand', compares, about)
  return [
    ['AggregateTest', declare('order', 'Compares an aggregate with values.')],
    [
      'AggregateTextTest',
      declare('text', 'Compares the smallest or the largest text with values.'),
    ],
    ['AggregateOperand', { kind: 'scalar', description }],
    ['TimeUnit', timeUnit],
  ]
}

/** A row's values of groups that are fields of a related record. */
interface RelatedKeys {
  readonly row: Readonly<Record<string, unknown>>
  /** The dotted name of the relation that leads to the record: `sample.project`. */
  readonly path: string
}

/** `SampleGroupKey`: the values of groups by fields of a record that the rows belong to. */
function declareKeys(model: RecordModel, groups: readonly FieldModel[]): TypeDeclaration {
  const fields: Record<string, GraphqlField> = {}
  for (const group of groups) {
    const { property } = group.column
    const write = aggregatedOutput(group)
    fields[group.name] = {
      type: group.type,
      description: 'The key of the group, if the field is in groupBy or groupByTime.',
      resolve: (keys) => {
        const { row, path } = keys as RelatedKeys
        return write({ [property]: row[`${path}.${property}`] })
      },
    }
  }
  for (const { name, target, relation } of groupRelationsOf(model))
    fields[name] = {
      type: `${target.name}GroupKey`,
      description: `The keys of groups by fields of its ${target.name}.`,
      resolve: (keys) => {
        const { row, path } = keys as RelatedKeys
        return { row, path: `${path}.${relation.name}` }
      },
    }
  return {
    kind: 'object',
    fields,
    description: `The keys of groups by fields of a related ${model.name}.`,
  }
}

function declareRow(
  model: RecordModel,
  groups: readonly FieldModel[],
  aggregateFields: readonly AggregateField[],
): TypeDeclaration {
  const fields: Record<string, GraphqlField> = {}
  for (const group of groups) {
    fields[group.name] = {
      type: group.type,
      description: 'The key of the group, if the field is in groupBy or groupByTime.',
      resolve: aggregatedOutput(group),
    }
  }
  const { name } = model
  for (const { name: relationName, target, relation } of groupRelationsOf(model))
    fields[relationName] = {
      type: `${target.name}GroupKey`,
      description: `The keys of groups by fields of its ${target.name}.`,
      resolve: (row) => ({ row, path: relation.name }),
    }
  fields.count = {
    type: 'Int',
    description: 'The number of rows.',
    resolve: (row) => (row as { count?: number }).count,
  }
  for (const aggregate of aggregateFunctions) {
    if (!aggregateFields.some((one) => one.aggregate === aggregate)) continue
    fields[aggregate] = { type: `${name}${titled(aggregate)}`, resolve: (row) => row }
  }
  return { kind: 'object', fields, description: `A group of ${name} with its aggregates.` }
}

function declareAggregateField({ aggregate, field }: AggregateField): GraphqlField {
  return {
    type: hasTypeOfField(aggregate) ? field.type : numberType(aggregate, field),
    description: `Of ${field.name}. Null if no row has a value.`,
    resolve: aggregatedOutput(field, aggregate),
  }
}

/** Sums and averages can exceed the range of the field. */
function hasTypeOfField(aggregate: AggregateFunction): boolean {
  return aggregate === 'min' || aggregate === 'max'
}

/** The type of a sum or average, which can exceed the range of the field. */
function numberType(aggregate: AggregateFunction, field: FieldModel): string {
  const { storage } = field.column
  // The type `Integer` is declared together with `IntFilter`.
  if (storage === 'integer' && aggregate === 'sum' && field.filter === 'IntFilter') return 'Integer'
  return storage === 'decimal' || (storage === 'wide' && aggregate === 'sum') ? 'String' : 'Float'
}

function declareHaving(aggregateFields: readonly AggregateField[]): TypeDeclaration {
  const fields: Record<string, ArgumentDeclaration> = {}
  const declare = (name: string, column?: Column): void => {
    const type = havingOperators(column).includes('like') ? 'AggregateTextTest' : 'AggregateTest'
    fields[name] = { type, description: `The condition for ${name}.` }
  }
  declare('count')
  for (const { name, field } of aggregateFields) declare(name, field.column)
  return { kind: 'input', fields, description: 'Conditions for groups. All must hold.' }
}

function declareOrder(
  model: RecordModel,
  groups: readonly FieldModel[],
  aggregateFields: readonly AggregateField[],
): TypeDeclaration {
  const fields: Record<string, ArgumentDeclaration> = {}
  for (const name of ['count', ...[...groups, ...aggregateFields].map((one) => one.name)])
    fields[name] = { type: 'SortDirection', description: `By ${name}.` }
  for (const { name, target } of groupRelationsOf(model))
    fields[name] = {
      type: `${target.name}Order`,
      description: `By a group that is a field of its ${target.name}.`,
    }
  return {
    kind: 'input',
    fields,
    description: 'The order by one aggregate or group. Use a list for several.',
  }
}
