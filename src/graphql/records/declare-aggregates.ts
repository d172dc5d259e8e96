/**
 * Declares `productsAggregate(where, groupBy, groupByTime, having, orderBy, limit)`: a list of groups, each with its key under its own
 * name, and what is made of its rows. Source: decisions, Second storey: records, Aggregates.
 */
import {
  aggregateFunctions,
  type AggregateFunction,
} from '../../records/aggregates/aggregate-types.js'
import { timeUnits } from '../../engines/contract/dialect.js'
import { havingOperators } from '../../records/aggregates/read-aggregate.js'
import { operatorOf, operatorsFor, type OperandKind } from '../../sql/operators.js'
import type { Column } from '../../engines/contract/table.js'
import type { ArgumentDeclaration, FieldDeclaration, TypeDeclaration } from '../declarations.js'
import { figuresOf, groupsOf, timeGroupsOf, titled, type Figure } from './aggregate-names.js'
import { generatedKey } from '../generated-part.js'
import type { FieldModel, RecordModel } from './model.js'
import { aggregatedOutput, resolveAggregate } from './resolve-aggregate.js'
import type { RecordServices } from './resolve-records.js'

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
