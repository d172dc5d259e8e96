/** Refuses client queries that would cost the database more than is allowed. */

import type { TableSizes } from './table-sizes.js'
import { HttpError } from '../../errors/http-error.js'
import type { Relation, Table } from '../model/table.js'
import { costBehind, costOf, ownNaming, type CostBasis, type Question } from './query-cost.js'

/** Whether so many rows may come along behind relations that they are counted before they are read. */

/**
 * @param mostRows what the query may cost: a row is 1
 * @returns undefined where there cannot be more, whichever rows are tied to which
 */
export function mostBehind(
  relations: AskedRelations,
  rows: number | undefined,
  sizes: TableSizes,
  mostRows: number,
): number | undefined {
  const page = rows ?? Infinity
  return mayBe(relations, { rows: page, isOnce: true }, sizes) > mostRows ? mostRows : undefined
}

/** Rows that others come behind; `isOnce`: none of them is there twice. */
interface Before {
  readonly rows: number
  readonly isOnce: boolean
}

function mayBe(relations: AskedRelations, before: Before, sizes: TableSizes): number {
  let sum = 0
  for (const [{ kind, join, target }, below] of relations) {
    const pairs = sizes.rowsOf(join?.name ?? target.name)
    const rows = kind === 'belongsTo' ? before.rows : before.isOnce ? pairs : before.rows * pairs
    const isOnce = before.isOnce && kind === 'hasMany'
    sum += rows + mayBe(below, { rows, isOnce }, sizes)
  }
  return sum
}

/** The default for what a client's query may cost, for `crud` and GraphQL alike. */
export const defaultCost = 5_000

/** A list query of `crud`. */
export interface ListedQuestion extends Omit<Question, 'counts'> {
  /** All rows of the filter are counted. */
  readonly countsRows?: boolean
  /** Relations whose rows are counted for each row. */
  readonly counts?: readonly { readonly relation: Relation }[]
  readonly where: object
  readonly orderBy: readonly object[]
  readonly limit: number
  /** Related rows that are loaded with them. */
  readonly shape?: { readonly relations: AskedRelations } | undefined
}

/** Each relation, with the relations that are loaded behind it. */
export type AskedRelations = ReadonlyMap<Relation, AskedRelations>

/** @throws {HttpError} 400 `TOO_COSTLY` */
export function checkCost(
  table: Table,
  question: ListedQuestion,
  sizes: TableSizes,
  most: number,
): void {
  const { where, orderBy } = question
  const isPlain = Object.keys(where).length === 0 && orderBy.length === 0
  const { shape, aggregates, counts = [] } = question
  if (!isPlain || shape !== undefined || aggregates === true || counts.length > 0) sizes.refresh()
  if (pointsOf(table, question, sizes) <= most) return
  // Rows may have been deleted since the sizes were read.
  sizes.refresh(1000)
  if (pointsOf(table, question, sizes) > most) throw tooCostly(most)
}

function pointsOf(table: Table, question: ListedQuestion, sizes: TableSizes): number {
  const { limit, shape, counts = [], countsRows = false } = question
  const { points } = costOf(ownNaming(table), { ...question, counts: countsRows }, sizes)
  const rows = shape === undefined ? 0 : rowsBehind(shape.relations, limit, sizes)
  const counted = counts.reduce((sum, { relation }) => sum + costOfCount(relation, sizes), 0)
  return points + limit + rows + limit * counted
}

/** The cost of counting the related rows of one row. */
export function costOfCount(relation: Relation, sizes: CostBasis): number {
  return costBehind(relation, ownNaming(relation.target), { counts: true }, sizes).points
}

/** An estimate, from the average number of related rows. */
function rowsBehind(relations: AskedRelations, rows: number, sizes: TableSizes): number {
  let sum = 0
  for (const [{ kind, join, table, target }, below] of relations) {
    const each =
      kind === 'belongsTo'
        ? 1
        : sizes.rowsOf(join?.name ?? target.name) / Math.max(1, sizes.rowsOf(table.name))
    const behind = rows * Math.max(1, each)
    sum += behind + rowsBehind(below, behind, sizes)
  }
  return sum
}

/** The error for a query that costs more than allowed. */
function tooCostly(most: number): HttpError {
  const message =
    `This query costs more than ${most}: a row is 1, filters, orders and offsets count by the rows that the database ` +
    'looks at for them. Ask for fewer rows, or by fields that have an index.'
  const errors = [{ path: '', code: 'TOO_COSTLY', message }]
  return new HttpError(400, message, { code: 'TOO_COSTLY', errors })
}
