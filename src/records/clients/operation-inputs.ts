/**
 * The inputs of the operations that read a record: the parameters of REST and the arguments of GraphQL, except parameters
 * that are conditions. Reading a query, documents, tools and the GraphQL schema loop over this table.
 */
import { timeUnits } from '../../engines/contract/dialect.js'
import type { Column, TableSearch } from '../../engines/contract/table.js'
import type { DeclaredParameter } from '../../openapi/requests.js'
import type { VisibleMembers } from '../../openapi/visible-members.js'
import { isOrdered } from '../../sql/operators.js'
import { aggregateFunctions } from '../aggregates/aggregate-types.js'
import { hasTime } from '../aggregates/read-aggregate.js'
import { countableRelations, type RelationCount } from '../filters/list-options.js'
import { isHidden } from '../filters/query-errors.js'
import type { Relation, Table } from '../model/table.js'
import { rulesOfRelation } from '../policy/client-view.js'
import { policyOf } from '../rights/record-policy.js'

/** The default number of rows of a list. */
export const defaultLimit = 10
export const largestLimit = 1000

/** A record as one caller may see it. */
export interface VisibleTable {
  readonly table: Table
  readonly columns: readonly Column[]
  readonly relations: readonly Relation[]
  readonly counts: readonly RelationCount[]
  /** Undefined without a search, and if a searched column is not visible. */
  readonly search: TableSearch | undefined
}

export function visiblePartOf(table: Table, visible: VisibleMembers): VisibleTable {
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

/** What an argument of GraphQL holds, which determines its type. */
export type ArgumentContent =
  | 'integer'
  | 'cursor'
  | 'key'
  | 'conditions'
  | 'order'
  | 'fields'
  | 'timeGroups'
  | 'groupConditions'
  | 'groupOrder'

interface InputArgument {
  readonly holds: ArgumentContent
  readonly description: string
  readonly default?: number | undefined
}

interface ReadOperationInput {
  /** Whether a field of the same name takes precedence: then the parameter is a condition. Default false. */
  readonly yieldsToField?: boolean
  /**
   * The parameter of REST. Default: none.
   *
   * @returns undefined if the input is of no use for the record
   */
  readonly parameter?: (part: VisibleTable) => Omit<DeclaredParameter, 'name'> | undefined
  /** The argument of GraphQL. Default: none. */
  readonly argument?: InputArgument
}

type ReadOperationInputs = Readonly<Record<string, ReadOperationInput>>

const text = { type: 'string' }

type Parameter = NonNullable<ReadOperationInput['parameter']>

/** A parameter with a list of names. */
function names(description: string): Parameter {
  return () => ({ description, schema: text, isList: true })
}

/** @param standard the default of REST */
function limit(standard: number, argumentDefault?: number): ReadOperationInput {
  const description = 'The maximum number of rows.'
  const schema = { type: 'integer', minimum: 0, maximum: largestLimit, default: standard }
  return {
    parameter: () => ({ description, schema }),
    argument: { holds: 'integer', description, default: argumentDefault },
  }
}

function argument(holds: ArgumentContent, description: string): ReadOperationInput {
  return { argument: { holds, description } }
}

const where = argument('conditions', 'Conditions for the rows. All must hold. Default: all rows.')
const skipped = 'The number of rows to skip.'
const sorted = 'The order of the rows. Default: by the key.'

/** Lists of related rows have only these arguments. */
const relatedInputs: ReadOperationInputs = {
  limit: limit(defaultLimit, defaultLimit),
  offset: {
    parameter: () => ({
      description: skipped,
      schema: { type: 'integer', minimum: 0, default: 0 },
    }),
    argument: { holds: 'integer', description: skipped, default: 0 },
  },
  where,
  orderBy: {
    parameter: (part) => ({ description: orderText(part), schema: text, isList: true }),
    ...argument('order', sorted),
  },
}

/** The parts of each row in the response. */
const rowInputs: ReadOperationInputs = {
  with: { yieldsToField: true, parameter: names('Related records to include, by dotted path.') },
  fields: {
    yieldsToField: true,
    parameter: names(
      'The fields in the response. All other fields are left out, even required ones. `relation.field` adds a related record with that field.',
    ),
  },
  counts: { yieldsToField: true, parameter: documentCounts },
}

const listInputs: ReadOperationInputs = {
  ...relatedInputs,
  after: {
    yieldsToField: true,
    parameter: () => ({
      description: 'The cursor of a row. The page starts after it.',
      schema: text,
    }),
  },
  count: {
    yieldsToField: true,
    parameter: () => ({
      description: 'The way of counting rows. Default: exact up to a limit, an estimate beyond it.',
      schema: { type: 'string', enum: ['exact', 'estimate', 'none'] },
    }),
  },
  distinct: {
    yieldsToField: true,
    parameter: names('Returns only the first of the rows that are equal in these fields.'),
    ...argument('fields', 'Of rows that are equal in these fields, only the first.'),
  },
  ...rowInputs,
}

const pageInputs: ReadOperationInputs = {
  first: argument(
    'integer',
    'The number of rows from the beginning, or after `after`. Default 10.',
  ),
  after: argument('cursor', 'A cursor. Returns only rows after it.'),
  last: argument(
    'integer',
    'The number of rows from the end, or before `before`. Cannot be combined with `first`.',
  ),
  before: argument('cursor', 'A cursor. Returns only rows before it.'),
  where,
  orderBy: argument('order', sorted),
}

const functionInputs: ReadOperationInputs = Object.fromEntries(
  aggregateFunctions.map((name) => [
    name,
    { parameter: names(`Fields to compute the ${name} of.`) },
  ]),
)

const aggregateInputs: ReadOperationInputs = {
  where,
  groupBy: {
    parameter: ({ columns }) => ({
      description: `One row for each combination of values of these fields. A field of a record that the rows belong to is written with its relation, \`sample.project.name\`.${columns.some(hasTime) ? timed : ''}`,
      schema: text,
      isList: true,
    }),
    ...argument(
      'fields',
      'The fields whose values form the groups. Without it, all rows are one group. A field of a record that the rows belong to is written with its relation, `sample_project_name`.',
    ),
  },
  groupByTime: argument(
    'timeGroups',
    'Timestamps and dates whose local time forms groups, in addition to `groupBy`.',
  ),
  ...functionInputs,
  having: argument('groupConditions', 'Conditions for groups.'),
  zone: {
    yieldsToField: true,
    parameter: ({ columns }) =>
      columns.some(hasTime)
        ? {
            description: 'The time zone for grouping by time, `Europe/Berlin`. Default UTC.',
            schema: text,
          }
        : undefined,
  },
  count: {
    parameter: () => ({
      description: 'Whether rows are counted.',
      schema: { type: 'string', enum: ['true', 'false'] },
    }),
  },
  orderBy: {
    parameter: names('Aggregates or groups to sort by, `-` for descending: `-sumPrice`.'),
    ...argument('groupOrder', sorted),
  },
  limit: limit(largestLimit),
}

const timed = ` To group a timestamp or date by its local time, add a unit to its name, \`createdAt:week\`: ${timeUnits.join(', ')}.`

export const operationInputs = {
  list: listInputs,
  related: relatedInputs,
  page: pageInputs,
  count: { where } as ReadOperationInputs,
  aggregate: aggregateInputs,
  find: { id: argument('key', 'The key.'), ...rowInputs } as ReadOperationInputs,
} as const

export type ReadOperation = keyof typeof operationInputs

/** Whether the parameter of REST is this input, and not a condition on a field of the same name. */
export function isInput({ byProperty }: Table, operation: ReadOperation, name: string): boolean {
  const inputs = operationInputs[operation]
  const input = Object.hasOwn(inputs, name) ? inputs[name] : undefined
  if (input?.parameter === undefined) return false
  return input.yieldsToField !== true || !byProperty.has(name)
}

export function documentInputs(part: VisibleTable, operation: ReadOperation): DeclaredParameter[] {
  const inputs = Object.entries(operationInputs[operation])
  return inputs.flatMap(([name, input]) => {
    const documented = isInput(part.table, operation, name) ? input.parameter?.(part) : undefined
    return documented === undefined ? [] : [{ name, ...documented }]
  })
}

function documentCounts({ counts }: VisibleTable): Omit<DeclaredParameter, 'name'> | undefined {
  if (counts.length === 0) return undefined
  const names = counts.map(({ name }) => `\`${name}\``).join(', ')
  return {
    description: `Relations whose rows are counted: each row gets their number, as ${names}. Rows that the caller may not see are not counted.`,
    schema: { type: 'string', enum: counts.map(({ relation }) => relation.name) },
    isList: true,
  }
}

function orderText({ relations }: VisibleTable): string {
  const description = 'Fields to sort by, `-` for descending: `-price,name`.'
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
  if (named.length === 0) return description
  return `${description} Fields of a row that it belongs to are allowed too, by dotted path: ${named.join(', ')}.`
}
