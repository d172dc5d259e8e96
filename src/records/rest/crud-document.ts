/** What the document tells of the routes of `crud`: every parameter by its exact name, headers, and refusals. */
import type { DocOptions } from '../../openapi/doc.js'
import type { GivenParameter } from '../../openapi/given-parameters.js'
import { aggregateFunctions } from '../aggregates/aggregate-types.js'
import { isHidden } from '../filters/filter.js'
import { operatorOf, operatorsFor, type Operator } from '../filters/operators.js'
import type { Column, Table } from '../model/table.js'
import { defaultLimit, largestLimit } from './crud-query.js'

/** A route of `crud`, as far as its documentation differs. */
export type DocumentedOperation = 'list' | 'aggregate' | 'find' | 'create' | 'update' | 'delete'

export function documentOperation(table: Table, operation: DocumentedOperation): DocOptions {
  const name = table.type.name
  const taken = `A value is taken already, or a key names no record.`
  switch (operation) {
    case 'list':
      return {
        description: `Rows of ${name}. ${relationText(table)}`.trim(),
        responses: { 200: { headers: listHeaders }, 400: faulty },
      }
    case 'aggregate':
      return {
        description:
          `Counts, sums, means, smallest and largest values of ${name}. ${relationText(table)}`.trim(),
        responses: { 400: faulty },
      }
    case 'find':
      return { responses: { 200: { headers: { ETag: tag } }, 400: faulty } }
    case 'create':
      return {
        responses: { 201: { headers: { Location: 'Where the new row is.' } }, 409: taken },
      }
    case 'update':
      return { responses: { 409: taken } }
    case 'delete':
      return { responses: { 409: `Other records refer to it still.` } }
  }
}

/** @returns the query parameters; none for routes that read no query */
export function documentParameters(
  table: Table,
  operation: DocumentedOperation,
): readonly GivenParameter[] {
  if (operation === 'find') return shapeParameters(table)
  if (operation !== 'list' && operation !== 'aggregate') return []
  const own = operation === 'list' ? listParameters(table) : aggregateParameters()
  const names = new Set(own.map(({ name }) => name))
  const fields = table.columns.filter(({ field }) => !field.hidden).flatMap(fieldParameters)
  return [...own, ...fields.filter(({ name }) => !names.has(name))]
}

const faulty = 'A parameter is unknown or faulty, or the question costs too much.'
const tag = 'Of these bytes: who has them gets 304.'

const listHeaders = {
  'X-Total-Count':
    'The number of rows that the filter finds; absent where it is not counted exactly.',
  'X-Total-Count-Estimate': 'Roughly that number, where it is large or `count=estimate`.',
  Link: 'The next page, as `rel="next"`; absent on the last one.',
  ETag: tag,
}

const text = { type: 'string' }

function listParameters(table: Table): GivenParameter[] {
  const own: GivenParameter[] = [
    limitParameter(defaultLimit),
    {
      name: 'offset',
      description: 'Rows to leave out first.',
      schema: { type: 'integer', minimum: 0, default: 0 },
    },
    orderParameter('Fields, `-` before those that go down: `-price,name`.'),
    { name: 'after', description: 'The cursor of a row: the page behind it.', schema: text },
    {
      name: 'count',
      description: 'How the total is told. Default: exactly up to a number, roughly beyond it.',
      schema: { type: 'string', enum: ['exact', 'estimate', 'none'] },
    },
  ]
  // A field of such a name is filtered by.
  return [...own.filter(({ name }) => !shadows(table, name)), ...shapeParameters(table)]
}

function shapeParameters(table: Table): GivenParameter[] {
  const own: GivenParameter[] = [
    {
      name: 'with',
      description: 'Relations to bring along, by dotted path.',
      schema: text,
      isList: true,
    },
    { name: 'fields', description: 'The only fields to answer.', schema: text, isList: true },
  ]
  return own.filter(({ name }) => !shadows(table, name))
}

function shadows({ byProperty }: Table, name: string): boolean {
  return byProperty.has(name) && name !== 'limit' && name !== 'offset' && name !== 'orderBy'
}

function aggregateParameters(): GivenParameter[] {
  const lists = ['groupBy', ...aggregateFunctions].map((name) => ({
    name,
    description:
      name === 'groupBy' ? 'A row for each of their values.' : `Fields to make the ${name} of.`,
    schema: text,
    isList: true,
  }))
  return [
    ...lists,
    {
      name: 'count',
      description: 'Whether rows are counted.',
      schema: { type: 'string', enum: ['true', 'false'] },
    },
    orderParameter('Figures or groups, `-` before those that go down: `-sumPrice`.'),
    limitParameter(largestLimit),
  ]
}

function limitParameter(standard: number): GivenParameter {
  const schema = { type: 'integer', minimum: 0, maximum: largestLimit, default: standard }
  return { name: 'limit', description: 'Most rows.', schema }
}

function orderParameter(description: string): GivenParameter {
  return { name: 'orderBy', description, schema: text, isList: true }
}

/** `price`, `price.gte` … */
function fieldParameters(column: Column): GivenParameter[] {
  const { property, compares } = column
  if (compares === 'json') {
    const description = 'JSON such as {"path":["a","b"],"eq":1}.'
    return [
      { name: property, description, schema: text },
      { name: `${property}.path`, description: 'Names, beside a comparison.', schema: text },
      ...operatorsFor(compares).map((operator) => ({
        name: `${property}.${operator}`,
        description: operatorOf(operator).meaning,
        schema: text,
      })),
    ]
  }
  const operators = operatorsFor(compares)
  const named = operators.map((operator) => operatorParameter(column, operator))
  if (!operators.includes('eq')) return named
  const plain = {
    name: property,
    description: operatorOf('eq').meaning,
    schema: valueSchema(column),
  }
  return [plain, ...named]
}

function operatorParameter(column: Column, operator: Operator): GivenParameter {
  const { operand, meaning } = operatorOf(operator)
  const name = `${column.property}.${operator}`
  if (operand === 'flag')
    return { name, description: meaning, schema: { type: 'string', enum: ['true', 'false'] } }
  if (operand === 'pattern' || operand === 'part')
    return { name, description: meaning, schema: text }
  const isList = operand === 'list'
  return { name, description: meaning, schema: valueSchema(column), ...(isList ? { isList } : {}) }
}

/** As a query writes a value. */
function valueSchema({ field: { entry }, isBoolean }: Column): GivenParameter['schema'] {
  if (isBoolean) return { anyOf: [{ type: 'boolean' }, { type: 'integer', enum: [0, 1] }] }
  return entry.schema
}

function relationText({ relations }: Table): string {
  const names = [...relations.values()].filter((one) => !isHidden(one)).map(({ name }) => name)
  if (names.length === 0) return ''
  return `Fields behind relations (${names.join(', ')}) are conditions too, by dotted path.`
}
