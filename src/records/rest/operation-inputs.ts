/**
 * The inputs of the operations that read a record, except conditions: their names, and their documentation for a caller.
 * Reading a query, documents and tools loop over this table, so a new input is an entry here and its reader.
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

interface OperationInput {
  /** Whether a field of the same name takes precedence: then the parameter is a condition. Default false. */
  readonly yieldsToField?: boolean
  /** @returns undefined if the input is of no use for the record */
  readonly document: (part: VisibleTable) => Omit<DeclaredParameter, 'name'> | undefined
}

type Inputs = Readonly<Record<string, OperationInput>>

const text = { type: 'string' }

function limit(standard: number): OperationInput {
  const schema = { type: 'integer', minimum: 0, maximum: largestLimit, default: standard }
  return { document: () => ({ description: 'The maximum number of rows.', schema }) }
}

/** The parts of each row in the response. */
const rowInputs: Inputs = {
  with: {
    yieldsToField: true,
    document: () => ({
      description: 'Related records to include, by dotted path.',
      schema: text,
      isList: true,
    }),
  },
  fields: {
    yieldsToField: true,
    document: () => ({
      description:
        'The fields in the response. All other fields are left out, even required ones. `relation.field` adds a related record with that field.',
      schema: text,
      isList: true,
    }),
  },
  counts: { yieldsToField: true, document: documentCounts },
}

const listInputs: Inputs = {
  limit: limit(defaultLimit),
  offset: {
    document: () => ({
      description: 'The number of rows to skip.',
      schema: { type: 'integer', minimum: 0, default: 0 },
    }),
  },
  orderBy: {
    document: (part) => ({ description: orderText(part), schema: text, isList: true }),
  },
  after: {
    yieldsToField: true,
    document: () => ({
      description: 'The cursor of a row. The page starts after it.',
      schema: text,
    }),
  },
  count: {
    yieldsToField: true,
    document: () => ({
      description: 'The way of counting rows. Default: exact up to a limit, an estimate beyond it.',
      schema: { type: 'string', enum: ['exact', 'estimate', 'none'] },
    }),
  },
  distinct: {
    yieldsToField: true,
    document: () => ({
      description: 'Returns only the first of the rows that are equal in these fields.',
      schema: text,
      isList: true,
    }),
  },
  ...rowInputs,
}

const functionInputs: Inputs = Object.fromEntries(
  aggregateFunctions.map((name) => [
    name,
    {
      document: () => ({
        description: `Fields to compute the ${name} of.`,
        schema: text,
        isList: true,
      }),
    },
  ]),
)

const aggregateInputs: Inputs = {
  groupBy: {
    document: ({ columns }) => ({
      description: `One row for each combination of values of these fields.${columns.some(hasTime) ? timed : ''}`,
      schema: text,
      isList: true,
    }),
  },
  ...functionInputs,
  zone: {
    yieldsToField: true,
    document: ({ columns }) =>
      columns.some(hasTime)
        ? {
            description: 'The time zone for grouping by time, `Europe/Berlin`. Default UTC.',
            schema: text,
          }
        : undefined,
  },
  count: {
    document: () => ({
      description: 'Whether rows are counted.',
      schema: { type: 'string', enum: ['true', 'false'] },
    }),
  },
  orderBy: {
    document: () => ({
      description: 'Aggregates or groups to sort by, `-` for descending: `-sumPrice`.',
      schema: text,
      isList: true,
    }),
  },
  limit: limit(largestLimit),
}

const timed = ` To group a timestamp or date by its local time, add a unit to its name, \`createdAt:week\`: ${timeUnits.join(', ')}.`

export const operationInputs = {
  list: listInputs,
  aggregate: aggregateInputs,
  find: rowInputs,
} as const

export type ReadOperation = keyof typeof operationInputs

/** Whether the parameter is this input, and not a condition on a field of the same name. */
export function isInput({ byProperty }: Table, operation: ReadOperation, name: string): boolean {
  const inputs = operationInputs[operation]
  if (!Object.hasOwn(inputs, name)) return false
  return inputs[name]?.yieldsToField !== true || !byProperty.has(name)
}

export function documentInputs(part: VisibleTable, operation: ReadOperation): DeclaredParameter[] {
  const inputs = Object.entries(operationInputs[operation])
  return inputs.flatMap(([name, input]) => {
    const documented = isInput(part.table, operation, name) ? input.document(part) : undefined
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
