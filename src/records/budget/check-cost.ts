/**
 * Rejects client queries whose estimated cost is too high, by the approximate sizes of their tables, and limits their
 * related rows.
 */

import type { Table, Relation } from '../model/table.js'
import { HttpError } from '../../errors/http-error.js'
import {
  averageRelatedRows,
  costOf,
  costOfBytes,
  costOfRelated,
  linkedRows,
  recordNaming,
  type CostBasis,
  type CostedQuery,
} from './query-cost.js'
import type { TableSizes } from './table-sizes.js'

/** A list query of `crud`. */
export interface CostedList extends CostedQuery {
  /** It returns groups of rows, which have no large values. */
  readonly returnsGroups?: boolean
  /** Relations whose rows are counted for each row. */
  readonly counts?: readonly { readonly relation: Relation }[]
  readonly where: object
  readonly orderBy: readonly object[]
  readonly limit: number
  /** Related rows that are loaded with them. */
  readonly shape?: { readonly relations: RequestedRelations } | undefined
}

/** Each relation, with the relations that are loaded below it. */
export type RequestedRelations = ReadonlyMap<Relation, RequestedRelations>

/** @throws {HttpError} 400 `TOO_COSTLY` */
export function checkCost(
  table: Table,
  query: CostedList,
  sizes: TableSizes,
  maxCost: number,
): void {
  sizes.refresh()
  if (pointsOf(table, query, sizes) <= maxCost) return
  // Rows may have been deleted since the sizes were read.
  sizes.refresh(1000)
  if (pointsOf(table, query, sizes) > maxCost) throw tooCostly(maxCost)
}

function pointsOf(table: Table, query: CostedList, sizes: TableSizes): number {
  const { limit, shape, counts = [] } = query
  const { points } = costOf(recordNaming(table), query, sizes)
  const rows = shape === undefined ? 0 : estimateRelatedRows(shape.relations, limit, sizes)
  const counted = counts.reduce((sum, { relation }) => sum + costOfCount(relation, sizes), 0)
  const bytes = query.returnsGroups === true ? 0 : costOfBytes(table.name, limit, sizes)
  return points + limit + bytes + rows + limit * counted
}

/** The cost of counting the related rows of one row. */
function costOfCount(relation: Relation, sizes: CostBasis): number {
  return costOfRelated(relation, recordNaming(relation.target), { countsRows: true }, sizes).points
}

/** An estimate of the related rows on all levels, from the average numbers. */
function estimateRelatedRows(
  relations: RequestedRelations,
  rows: number,
  sizes: TableSizes,
): number {
  let sum = 0
  for (const [relation, nested] of relations) {
    const rowsPerParent = relation.kind === 'belongsTo' ? 1 : averageRelatedRows(relation, sizes)
    const relatedRows = rows * Math.max(1, rowsPerParent)
    // Each of them is read for its row, also if several rows share it.
    const bytes = rows * costOfBytes(relation.target.name, Math.max(1, rowsPerParent), sizes)
    sum += relatedRows + bytes + estimateRelatedRows(nested, relatedRows, sizes)
  }
  return sum
}

/** The error for a query that costs more than allowed. */
function tooCostly(maxCost: number): HttpError {
  const message =
    `This query costs more than ${maxCost}. A row costs 1, a large one more; filters, orders and offsets cost according to the rows that ` +
    'the database reads for them. Request fewer rows, or filter and sort by fields that have an index.'
  const errors = [{ path: '', code: 'TOO_COSTLY', message }]
  return new HttpError(400, message, { code: 'TOO_COSTLY', errors })
}

/**
 * The limit of related rows, if the query may read more of them than allowed. They are then counted first.
 *
 * @param maxRows the maximum cost of the query: a row is 1
 * @returns `undefined` if there cannot be more related rows
 */
export function relatedRowLimit(
  relations: RequestedRelations,
  rows: number | undefined,
  sizes: TableSizes,
  maxRows: number,
): number | undefined {
  const outer = { rows: rows ?? Infinity, areDistinct: true }
  return maxRelatedRows(relations, outer, sizes) > maxRows ? maxRows : undefined
}

/** Rows whose related rows are read. `areDistinct`: no row occurs twice. */
interface OuterRows {
  readonly rows: number
  readonly areDistinct: boolean
}

/** The related rows on all levels, if the rows have the most that the sizes of the tables allow. */
function maxRelatedRows(
  relations: RequestedRelations,
  outer: OuterRows,
  sizes: TableSizes,
): number {
  let sum = 0
  for (const [relation, nested] of relations) {
    const { kind } = relation
    const links = linkedRows(relation, sizes)
    const rows = kind === 'belongsTo' ? outer.rows : outer.areDistinct ? links : outer.rows * links
    const areDistinct = outer.areDistinct && kind === 'hasMany'
    sum += rows + maxRelatedRows(nested, { rows, areDistinct }, sizes)
  }
  return sum
}
