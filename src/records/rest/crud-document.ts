/** Documents the routes of `crud`: every parameter by its exact name, as far as a caller may see it, headers and errors. */
import { hasConditions } from '../../auth/access.js'
import { writeFieldMetadata } from '../../fields/field.js'
import type { Class } from '../../metadata/class.js'
import type { DocOptions } from '../../openapi/doc.js'
import type { DeclaredParameter, DeclaredRequest } from '../../openapi/requests.js'
import type { VisibleMembers } from '../../openapi/visible-members.js'
import { aggregateFunctions } from '../aggregates/aggregate-types.js'
import { nameOf } from '../aggregates/measure.js'
import { hasAggregate, hasTime, havingOperators } from '../aggregates/read-aggregate.js'
import { isHidden } from '../filters/query-errors.js'
import { countableRelations, type RelationCount } from '../filters/list-options.js'
import { isOrdered, operatorOf, operatorsFor } from '../../sql/operators.js'
import type { Column, TableSearch } from '../../engines/contract/table.js'
import { timeUnits } from '../../engines/contract/dialect.js'
import type { Relation, Table } from '../model/table.js'
import { rulesOfRelation } from '../policy/client-view.js'
import { policyOf, type WriteAccess } from '../rights/record-policy.js'
import { defaultLimit, largestLimit } from './crud-query.js'
import {
  aggregateValues,
  ColumnValues,
  countValues,
  documentComparison,
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

/** A record as one caller may see it. */
interface VisibleTable {
  readonly table: Table
  readonly columns: readonly Column[]
  readonly relations: readonly Relation[]
  readonly counts: readonly RelationCount[]
  /** Undefined without a search, and if a searched column is not visible. */
  readonly search: TableSearch | undefined
}

function visiblePartOf(table: Table, visible: VisibleMembers): VisibleTable {
  const shows = (name: string): boolean => visible.shows(table.type, name)
  const { search } = table
  return {
    table,
    columns: table.columns.filter(({ field, property }) => !field.hidden && shows(property)),
    relations: [...table.relations.values()].filter((one) => !isHidden(one) && shows(one.name)),
    counts: countableRelations(table, true).filter(({ relation }) => shows(relation.name)),
    search: search?.columns.every(({ property }) => shows(property)) === true ? search : undefined,
  }
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
        parameters: withFilters(part, listParameters(part)),
      }
    case 'aggregate':
      return {
        description:
          `Counts, sums, averages, minima and maxima of ${name}. ${relationText(part)}`.trim(),
        parameters: withFilters(part, aggregateParameters(part)),
      }
    case 'find':
      return { parameters: [...shapeParameters(part), ...shardParameters(part)] }
    default:
      return { parameters: shardParameters(part) }
  }
}

function withFilters(
  { search, columns }: VisibleTable,
  parameters: readonly DeclaredParameter[],
): DeclaredParameter[] {
  const all = [...parameters, ...(search === undefined ? [] : [searchParameter(search)])]
  const names = new Set(all.map(({ name }) => name))
  return [...all, ...columns.flatMap(fieldParameters).filter(({ name }) => !names.has(name))]
}

/** For operations without a filter, which names the shard elsewhere. */
function shardParameters({ table, columns }: VisibleTable): DeclaredParameter[] {
  const { type, shard } = table
  if (shard === undefined || !columns.includes(shard)) return []
  const description = `The shard of the ${type.name}, unless the caller's rights or the body determine it.`
  const schema = { type: shard.storage === 'integer' ? 'integer' : 'string' }
  return [{ name: shard.property, description, schema }]
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

function listParameters(part: VisibleTable): DeclaredParameter[] {
  const { table } = part
  const parameters: DeclaredParameter[] = [
    limitParameter(defaultLimit),
    {
      name: 'offset',
      description: 'The number of rows to skip.',
      schema: { type: 'integer', minimum: 0, default: 0 },
    },
    orderParameter(orderText(part)),
    { name: 'after', description: 'The cursor of a row. The page starts after it.', schema: text },
    {
      name: 'count',
      description: 'The way of counting rows. Default: exact up to a limit, an estimate beyond it.',
      schema: { type: 'string', enum: ['exact', 'estimate', 'none'] },
    },
    {
      name: 'distinct',
      description: 'Returns only the first of the rows that are equal in these fields.',
      schema: text,
      isList: true,
    },
  ]
  // A field with the name of a parameter takes precedence as a filter.
  return [...parameters.filter(({ name }) => !shadows(table, name)), ...shapeParameters(part)]
}

function shapeParameters({ table, counts }: VisibleTable): DeclaredParameter[] {
  const parameters: DeclaredParameter[] = [
    {
      name: 'with',
      description: 'Related records to include, by dotted path.',
      schema: text,
      isList: true,
    },
    {
      name: 'fields',
      description:
        'The fields in the response. All other fields are left out, even required ones. `relation.field` adds a related record with that field.',
      schema: text,
      isList: true,
    },
  ]
  if (counts.length > 0) parameters.push(countsParameter(counts))
  return parameters.filter(({ name }) => !shadows(table, name))
}

function countsParameter(counts: readonly RelationCount[]): DeclaredParameter {
  const names = counts.map(({ name }) => `\`${name}\``).join(', ')
  return {
    name: 'counts',
    description: `Relations whose rows are counted: each row gets their number, as ${names}. Rows that the caller may not see are not counted.`,
    schema: { type: 'string', enum: counts.map(({ relation }) => relation.name) },
    isList: true,
  }
}

function shadows({ byProperty }: Table, name: string): boolean {
  return byProperty.has(name) && name !== 'limit' && name !== 'offset' && name !== 'orderBy'
}

function aggregateParameters({ table, columns }: VisibleTable): DeclaredParameter[] {
  const isTimed = columns.some(hasTime)
  const lists = ['groupBy', ...aggregateFunctions].map((name) => ({
    name,
    description:
      name === 'groupBy'
        ? `One row for each combination of values of these fields.${isTimed ? timed : ''}`
        : `Fields to compute the ${name} of.`,
    schema: text,
    isList: true,
  }))
  return [
    ...lists,
    ...(isTimed && !table.byProperty.has('zone') ? [zoneParameter] : []),
    {
      name: 'count',
      description: 'Whether rows are counted.',
      schema: { type: 'string', enum: ['true', 'false'] },
    },
    orderParameter('Aggregates or groups to sort by, `-` for descending: `-sumPrice`.'),
    limitParameter(largestLimit),
    ...havingParameters(columns),
  ]
}

/** The parameters of `having` by exact name: `having.count.gte`, `having.sumPrice.between` … */
function havingParameters(columns: readonly Column[]): DeclaredParameter[] {
  const measures: [string, Column | undefined, OperandValues][] = [
    ['count', undefined, countValues],
  ]
  for (const column of columns) {
    for (const called of aggregateFunctions)
      if (hasAggregate(column, called))
        measures.push([nameOf(called, column), column, aggregateValues(column, called)])
  }
  return measures.flatMap(([name, column, values]) =>
    havingOperators(column).map((operator) =>
      documentComparison(
        `having.${name}`,
        operator,
        values,
        'Only groups that meet this condition.',
      ),
    ),
  )
}

const timed = ` To group a timestamp or date by its local time, add a unit to its name, \`createdAt:week\`: ${timeUnits.join(', ')}.`

const zoneParameter: DeclaredParameter = {
  name: 'zone',
  description: 'The time zone for grouping by time, `Europe/Berlin`. Default UTC.',
  schema: text,
}

function searchParameter({ columns }: TableSearch): DeclaredParameter {
  const names = columns.map(({ property }) => property).join(', ')
  const description = `Words that must all occur in ${names}. Without \`orderBy\`, the best matches come first.`
  return { name: 'search', description, schema: text }
}

function limitParameter(standard: number): DeclaredParameter {
  const schema = { type: 'integer', minimum: 0, maximum: largestLimit, default: standard }
  return { name: 'limit', description: 'The maximum number of rows.', schema }
}

function orderText({ relations }: VisibleTable): string {
  const text = 'Fields to sort by, `-` for descending: `-price,name`.'
  const belongsTo = relations.filter(
    (one) => one.kind === 'belongsTo' && rulesOfRelation(one).length === 0,
  )
  const named = belongsTo.flatMap(({ name, target }) => {
    const { columns: secured } = policyOf(target)
    const field = target.columns.find(
      (column) =>
        isOrdered(column) && !column.isKey && !column.field.hidden && !secured.has(column),
    )
    return field === undefined ? [] : [`\`${name}.${field.property}\``]
  })
  if (named.length === 0) return text
  return `${text} Fields of a row that it belongs to are allowed too, by dotted path: ${named.join(', ')}.`
}

function orderParameter(description: string): DeclaredParameter {
  return { name: 'orderBy', description, schema: text, isList: true }
}

/** The filter parameters of a field: `price`, `price.gte` … */
function fieldParameters(column: Column): DeclaredParameter[] {
  const { property, compares } = column
  if (compares === 'json') {
    const description = 'JSON such as {"path":["a","b"],"eq":1}.'
    return [
      { name: property, description, schema: text },
      {
        name: `${property}.path`,
        description: 'The path of a value in the JSON. Needs a comparison in another parameter.',
        schema: text,
      },
      ...operatorsFor(compares).map((operator) => ({
        name: `${property}.${operator}`,
        description: operatorOf(operator).meaning,
        schema: text,
      })),
    ]
  }
  const values = new ColumnValues(column)
  const operators = operatorsFor(compares)
  const comparisons = operators.map((operator) => documentComparison(property, operator, values))
  if (!operators.includes('eq')) return comparisons
  const { schema } = values
  return [{ name: property, description: operatorOf('eq').meaning, schema }, ...comparisons]
}

function relationText({ relations }: VisibleTable): string {
  if (relations.length === 0) return ''
  const names = relations.map(({ name }) => name)
  return `Fields of related records (${names.join(', ')}) are allowed as filters too, by dotted path.`
}
