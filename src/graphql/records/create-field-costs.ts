/** Estimates the database costs of generated fields: of filters, orders, offsets and counts. */
import type { GraphQLField } from 'graphql'
import {
  costOfColumn,
  costOfRelated,
  costOf,
  type CostBasis,
  type RecordNames,
  type QueryCost,
  unknownValue,
} from '../../records/budget/query-cost.js'
import { countGroupRelations } from '../../records/aggregates/group-path.js'
import { defaultSearchLimit } from '../../records/filters/search.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../../records/model/table.js'
import type { TableSizes } from '../../records/budget/table-sizes.js'
import type { FieldArguments } from '../declarations.js'
import type { FieldCosts } from '../measure.js'
import { hasUnplannedInput } from './declare-arguments.js'
import { generatedOf, type RecordModel } from './model.js'
import { findGroup } from './names.js'
import type { RecordServices } from './resolve-records.js'

export function createFieldCosts(services: RecordServices): FieldCosts {
  const namings = new Map<RecordModel, RecordNames>()
  const namingOf = (model: RecordModel): RecordNames => {
    const cached = namings.get(model)
    if (cached !== undefined) return cached
    const naming: RecordNames = {
      table: model.table,
      column: (name) => model.fields.get(name)?.column,
      relation: (name) => {
        const found = model.relations.get(name)
        return found && { relation: found.relation, naming: namingOf(found.target) }
      },
    }
    namings.set(model, naming)
    return naming
  }
  const sizes = (): TableSizes | undefined => services.findDatabase()?.sizes
  const tablesByColumn = new WeakMap<Column, Table>()
  const tableOf = (column: Column): Table | undefined => {
    if (!tablesByColumn.has(column))
      for (const table of services.database().tables)
        for (const one of table.columns) tablesByColumn.set(one, table)
    return tablesByColumn.get(column)
  }
  return {
    version: () => {
      const tableSizes = sizes()
      tableSizes?.refresh()
      return tableSizes?.version ?? 0
    },
    costOf: (field, args) => {
      const tableSizes = sizes()
      if (tableSizes === undefined)
        return costOfField(field, args, { namingOf, tableOf: () => undefined, basis: noSizes })
      return costOfField(field, args, { namingOf, tableOf, basis: tableSizes })
    },
  }
}

const noSizes: CostBasis = {
  rowsOf: () => 0,
  bytesOf: () => 0,
  searchLimit: defaultSearchLimit,
  hasTrigrams: false,
}

interface CostContext {
  readonly namingOf: (model: RecordModel) => RecordNames
  readonly tableOf: (column: Column) => Table | undefined
  readonly basis: CostBasis
}

/** The number of relations that lead to the fields of groups; one for groups that are not known yet. */
function groupRelationsOf(model: RecordModel, { groupBy, groupByTime }: FieldArguments): number {
  const names = [groupBy, groupByTime].flatMap((list): unknown[] =>
    Array.isArray(list) ? (list as unknown[]) : [],
  )
  const properties = names.flatMap((one) => {
    const name = typeof one === 'object' && one !== null && 'field' in one ? one.field : one
    return (typeof name === 'string' && findGroup(model, name)?.property) || []
  })
  const isUnknown = groupBy === unknownValue || groupByTime === unknownValue
  return countGroupRelations(properties) + (isUnknown ? 1 : 0)
}

function costOfField(
  field: GraphQLField<unknown, unknown>,
  args: FieldArguments,
  { namingOf, tableOf, basis }: CostContext,
): QueryCost | undefined {
  const generated = generatedOf(field)
  const { where, orderBy, offset } = args
  const isPlain =
    where === undefined && orderBy === undefined && offset === undefined && !hasUnplannedInput(args)
  if (isPlain && (generated?.kind === 'list' || generated?.kind === 'page')) return undefined
  switch (generated?.kind) {
    case 'column': {
      const { column } = generated.field
      const table = tableOf(column)
      return table && costOfColumn(table, column, basis)
    }
    case 'list':
    case 'page':
      return costOf(namingOf(generated.model), args, basis)
    case 'count':
      return costOf(namingOf(generated.model), { where: args.where, countsRows: true }, basis)
    case 'aggregate':
      return costOf(
        namingOf(generated.model),
        { where, aggregates: true, groupRelations: groupRelationsOf(generated.model, args) },
        basis,
      )
    case 'part':
      // The cost of a page with a filter includes the rows that the filter reads.
      return generated.part === 'totalCount'
        ? costOf(namingOf(generated.model), { countsRows: true }, basis)
        : undefined
    case 'relationCount': {
      const { relation, target } = generated.relation
      return costOfRelated(relation, namingOf(target), { countsRows: true }, basis)
    }
    case 'relation': {
      const { relation, target, isList } = generated.relation
      return isList && !isPlain ? costOfRelated(relation, namingOf(target), args, basis) : undefined
    }
    default:
      return undefined
  }
}
