/** Documents the routes of `crud`: every parameter by its exact name, as far as a caller may see it, headers and errors. */
import { hasConditions } from '../../auth/access.js'
import { writeFieldMetadata } from '../../fields/field.js'
import type { Class } from '../../metadata/class.js'
import type { JsonSchema } from '../../fields/kinds/kind.js'
import type { DocOptions } from '../../openapi/doc.js'
import type { DeclaredFilter, DeclaredParameter, DeclaredRequest } from '../../openapi/requests.js'
import type { VisibleMembers } from '../../openapi/visible-members.js'
import { aggregateFunctions } from '../aggregates/aggregate-types.js'
import { nameOf } from '../aggregates/measure.js'
import { hasAggregate, havingOperators } from '../aggregates/read-aggregate.js'
import { isHidden } from '../filters/query-errors.js'
import { operatorOf, operatorsFor } from '../../sql/operators.js'
import type { Column, TableSearch } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import { policyOf, type WriteAccess } from '../rights/record-policy.js'
import { objectClassOf } from '../filters/json-parts.js'
import { partColumn } from '../model/read-columns.js'
import type { Shape } from '../../fields/shape.js'
import { documentInputs, visiblePartOf, type VisibleTable } from '../clients/operation-inputs.js'
import {
  aggregateValues,
  ColumnValues,
  countValues,
  documentOperator,
  type OperandValues,
} from './operand-values.js'

/** The operations of `crud`. */
export type DocumentedOperation = 'list' | 'aggregate' | 'find' | 'create' | 'update' | 'delete'

export function documentOperation(table: Table, operation: DocumentedOperation): DocOptions {
  const { requestHeaders, responseHeaders, errors } = versionTexts(table)
  const { blindWrites } = policyOf(table)
  switch (operation) {
    case 'list':
      return {
        headers: conditionalHeaders,
        responses: {
          200: { headers: listHeaders },
          304: { description: unchanged, headers: listHeaders },
          400: invalidRequest,
        },
      }
    case 'aggregate':
      return {
        responses: {
          200: { description: groups, type: [aggregateClass(table)] },
          400: invalidRequest,
        },
      }
    case 'find':
      return {
        headers: conditionalHeaders,
        responses: {
          200: { headers: { ETag: tag } },
          304: { description: unchanged, headers: { ETag: tag } },
          400: invalidRequest,
        },
      }
    case 'create':
      return {
        responses: {
          201: {
            ...(blindWrites.create && { description: createdBlindly }),
            headers: { Location: 'The address of the new row.', ...responseHeaders },
          },
          ...forbiddenFields(table),
          409: conflictText,
        },
      }
    case 'update':
      return {
        headers: requestHeaders,
        responses: {
          200: { headers: responseHeaders },
          ...(blindWrites.update ? updatedBlindly : undefined),
          ...forbiddenFields(table),
          409: conflictText,
          ...errors,
        },
      }
    case 'delete':
      return {
        headers: requestHeaders,
        responses: {
          204: 'The row was deleted.',
          409: `Other records still refer to it.`,
          ...errors,
        },
      }
  }
}

const conflictText =
  'A unique value already exists, a key refers to no record, or concurrent changes conflicted for too long.'
const createdBlindly =
  'The row was created. The body is empty, and there is no ETag, if the caller may not read the record.'
const updatedBlindly: Readonly<Record<number, string>> = {
  204: 'The row was updated, and the caller may not read the record.',
}
const groups =
  'One row, or one row for each group: its values under their field names, and aggregates such as `sumPrice`.'

const forbiddenText = 'The caller may not write a field or a related record of the body.'

/** The response to a body with a field or a related record that only some callers may write. */
function forbiddenFields(table: Table): Readonly<Record<number, string>> {
  const related = [...table.relations.values()].filter((relation) => !isHidden(relation))
  const isRestricted =
    restrictsValues(table) ||
    related.some(({ target }) => restrictsValues(target) || restrictsRows(target))
  return isRestricted ? { 403: forbiddenText } : {}
}

/** True if a field or a link of the record requires more than a token of clients that write it. */
function restrictsValues(table: Table): boolean {
  const { columns, columnWrites, links } = policyOf(table)
  const securedColumns = [...columns].filter(([{ field }]) => !field.hidden && !field.readOnly)
  const rules = [...securedColumns.map(([, rule]) => rule), ...columnWrites.values()]
  return [...rules, ...links.values()].some(needsMore)
}

/** True if creating, changing or deleting a row of the record requires more than a token. */
function restrictsRows(table: Table): boolean {
  return Object.values(policyOf(table).writes).some(needsMore)
}

function needsMore(access: WriteAccess): boolean {
  return access !== undefined && access !== false && !access.open && hasConditions(access)
}

interface VersionTexts {
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly responseHeaders: Readonly<Record<string, string>>
  readonly errors: Readonly<Record<number, string>>
}

/** Texts of the documentation for records with a version. */
function versionTexts({ version }: Table): VersionTexts {
  if (version === undefined) return { requestHeaders: {}, responseHeaders: {}, errors: {} }
  return {
    requestHeaders: {
      'If-Match':
        'ETags of the row, or `*`. The row is written only if it is at one of these versions.',
      'If-None-Match':
        'ETags of the row, or `*`. The row is written only if it is at none of these versions.',
    },
    responseHeaders: { ETag: 'The version of the row.' },
    errors: {
      400: 'The body or a condition is invalid.',
      412: 'The version of the row is not in `If-Match`, or it is in `If-None-Match`.',
    },
  }
}

/** The schema of an aggregate's row, the same for all callers. */
function aggregateClass({ type }: Table): Class {
  const Aggregates = class {}
  Object.defineProperty(Aggregates, 'name', { value: `${type.name}Figures` })
  const rules = { optional: true, min: 0, description: 'The number of rows.' }
  writeFieldMetadata(Aggregates, 'count', { kind: 'integer', rules })
  return Aggregates
}

/** Documents the query of an operation. Operations that read no query have neither text nor parameters. */
export function documentRequest(
  table: Table,
  operation: DocumentedOperation,
  visible: VisibleMembers,
): DeclaredRequest {
  const part = visiblePartOf(table, visible)
  const { name } = table.type
  switch (operation) {
    case 'list':
      return {
        description: `Rows of ${name}. ${relationText(part)}`.trim(),
        ...withFilters(part, documentInputs(part, 'list')),
      }
    case 'aggregate':
      return {
        description:
          `Counts, sums, averages, minima and maxima of ${name}. ${relationText(part)}`.trim(),
        ...withFilters(part, documentInputs(part, 'aggregate'), havingFilters(part.columns)),
      }
    case 'find':
      return {
        parameters: [...documentInputs(part, 'find'), ...shardParameters(part)],
        ...documentKey(table),
      }
    default:
      return { parameters: shardParameters(part), ...documentKey(table) }
  }
}

function withFilters(
  { search, columns }: VisibleTable,
  inputs: readonly DeclaredParameter[],
  having: readonly DeclaredFilter[] = [],
): Pick<DeclaredRequest, 'parameters' | 'filters'> {
  const parameters = [...inputs, ...(search === undefined ? [] : [searchParameter(search)])]
  const names = new Set(parameters.map(({ name }) => name))
  const fields = columns.flatMap((column) => [fieldFilter(column), ...partFilters(column, [])])
  // The name of an input is never the field of the same name, whose operators can still be used.
  const filters = fields.map((one) =>
    names.has(one.name) ? { ...one, description: undefined } : one,
  )
  return { parameters, filters: [...having, ...filters] }
}

/** For operations without a filter, which names the shard elsewhere. */
function shardParameters({ table, columns }: VisibleTable): DeclaredParameter[] {
  const { type, shard } = table
  if (shard === undefined || !columns.includes(shard)) return []
  const description = `The shard of the ${type.name}, unless the caller's rights or the body determine it.`
  const schema = { type: shard.storage === 'integer' ? 'integer' : 'string' }
  return [{ name: shard.property, description, schema }]
}

/** The key of several fields in the path of a row. */
function documentKey({ key: { parts } }: Table): Pick<DeclaredRequest, 'key'> {
  if (parts === undefined) return {}
  const names = parts.map(({ property }) => property).join(', ')
  const schemas = parts.map(({ property, field, isUuid }): [string, JsonSchema] => [
    property,
    isUuid ? { type: 'string', format: 'uuid' } : field.entry.schema,
  ])
  const description = `The key: ${names}, separated by commas, each percent-encoded.`
  return { key: { description, parts: Object.fromEntries(schemas) } }
}

const invalidRequest = 'A parameter is unknown or invalid, or the query costs too much.'
const tag = 'Identifies this response. Clients that send it back get 304.'
const conditionalHeaders = {
  'If-None-Match':
    'ETags of responses that the client has. The response is 304 if it is one of them.',
}
const unchanged = 'The client already has this response.'

const listHeaders = {
  'X-Total-Count':
    'The number of rows that match the filter; absent if they were not counted exactly.',
  'X-Total-Count-Estimate': 'An estimate of that number, if it is large or with `count=estimate`.',
  Link: 'The next page, as `rel="next"`; absent on the last one.',
  ETag: tag,
}

const text = { type: 'string' }

/** The filters of groups: `having.count` with `gte`, `having.sumPrice` with `between` … */
function havingFilters(columns: readonly Column[]): DeclaredFilter[] {
  const measures: [string, Column | undefined, OperandValues][] = [
    ['count', undefined, countValues],
  ]
  for (const column of columns) {
    for (const called of aggregateFunctions)
      if (hasAggregate(column, called))
        measures.push([nameOf(called, column), column, aggregateValues(column, called)])
  }
  return measures.map(([name, column, { schema }]) => ({
    name: `having.${name}`,
    schema,
    operators: havingOperators(column).map(documentOperator),
  }))
}

function searchParameter({ columns }: TableSearch): DeclaredParameter {
  const names = columns.map(({ property }) => property).join(', ')
  const description = `Words that must all occur in ${names}. Without \`orderBy\`, the best matches come first.`
  return { name: 'search', description, schema: text }
}

/** The filter of a field: `price`, `price.gte` … */
function fieldFilter(column: Column): DeclaredFilter {
  const { property: name, compares } = column
  const operators = operatorsFor(compares)
  const documented = operators.map(documentOperator)
  if (compares === 'json') {
    const description = 'JSON such as {"path":["a","b"],"eq":1}.'
    return { name, description, schema: text, operators: [jsonPath, ...documented] }
  }
  const { schema, choiceSchema } = new ColumnValues(column)
  const description = operators.includes('eq') ? operatorOf('eq').meaning : undefined
  return { name, description, schema, choiceSchema, operators: documented }
}

/** The filters of the parts of a nested class: `price.amount`, `price.amount.gte` … */
function partFilters(
  { property, field }: Column,
  outer: readonly string[],
  classes: readonly Shape[] = [],
): DeclaredFilter[] {
  const shape = objectClassOf(field)
  if (shape === undefined || classes.includes(shape)) return []
  const names = [...outer, property]
  const parts = shape.fields.filter(({ hidden }) => !hidden).map(partColumn)
  return parts.flatMap((part): DeclaredFilter[] => {
    if (part.compares === 'json') return partFilters(part, names, [...classes, shape])
    return [{ ...fieldFilter(part), name: [...names, part.property].join('.') }]
  })
}

const jsonPath = {
  name: 'path',
  description: 'The path of a value in the JSON. Needs a comparison in another parameter.',
  operand: 'text',
} as const

function relationText({ relations }: VisibleTable): string {
  if (relations.length === 0) return ''
  const names = relations.map(({ name }) => name)
  return `Fields of related records (${names.join(', ')}) are allowed as filters too, by dotted path.`
}
