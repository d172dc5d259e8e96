/**
 * Computes an upper bound of the rows that a query examines, including its related rows, from the declared indexes
 * (`index-bound.ts`). If no index bounds the rows of a table, the size of the table does.
 *
 * ```
 * id = 5                                        1
 * categoryId = 5 order by price limit 20        20, by an index of (categoryId, price)
 * categoryId = 5 and note = 'x' limit 20        the table: rows with other notes are skipped
 * ```
 */
import type { Dialect } from '../engines/contract/dialect.js'
import type { Column } from '../engines/contract/table.js'
import { type SqlRelation } from './table.js'
import type { Condition } from './condition.js'
import { derivedColumnsOf, isDerived, type Derived } from './derived.js'
import {
  listLengthAt,
  smaller,
  noRows,
  oneRow,
  sum,
  product,
  unbounded,
  entireTable,
  type RowBound,
  indexBoundOf,
  partsOf,
  type BoundedRows,
  type PositionOf,
} from './index-bound.js'
import { splitAtNulls } from './order.js'
import { searchesText } from './operators.js'
import { relatedFormOf } from './condition-writer.js'
import type { AggregateSelection, PageEntry, Query, Rows, Selection } from './tree.js'

/** @param positionOf the position of a slot's value among the values of the statement */
export function rowBoundOf(query: Query, dialect: Dialect, positionOf: PositionOf): RowBound {
  return new BoundProver(dialect, positionOf).query(query)
}

class BoundProver {
  readonly #dialect: Dialect
  readonly #positionOf: PositionOf
  /** Bounds of subqueries that run once, whatever the number of rows: lists of keys. */
  readonly #onceBounds: RowBound[] = []

  constructor(dialect: Dialect, positionOf: PositionOf) {
    this.#dialect = dialect
    this.#positionOf = positionOf
  }

  query(query: Query): RowBound {
    const bound = this.#queryWithoutOnce(query)
    return this.#onceBounds.length === 0 ? bound : sum(bound, ...this.#onceBounds)
  }

  #queryWithoutOnce(query: Query): RowBound {
    switch (query.query) {
      case 'rows': {
        const { rows, derived = [], selection = [], maxRelated, total } = query
        const relatedBound = sum(
          this.#selection(selection),
          ...derived.map((one) => this.#derived(one)),
        )
        // With a maximum, related rows are counted first, so they are read twice.
        const found = product(
          this.#rows(rows),
          maxRelated === undefined ? relatedBound : sum(relatedBound, relatedBound),
        )
        if (total === undefined) return found
        const all: Rows = { ...rows, offset: undefined, ...total }
        return sum(found, this.#queryWithoutOnce({ query: 'count', rows: all }))
      }
      case 'count': {
        const { rows, sampleSize } = query
        if (sampleSize === undefined) return this.#rows({ ...rows, order: { terms: [], key: '' } })
        // A search examines all of its matches before it returns the first row, so it has no bound.
        const each = this.#each(rows.where === undefined ? [] : [rows.where])
        if (each === undefined) return unbounded
        const position = this.#positionOf(sampleSize)
        return product({ rows: (values) => 2 * Number(values[position]), indexes: [] }, each)
      }
      case 'relatedRows': {
        const { relation, keys, isPacked, rows } = query
        const positions = keys.map(this.#positionOf)
        const all = isPacked ? listLengthAt(positions) : (): number => keys.length
        // Each list is found by one lookup and then read by another. A row by its key needs one.
        const each = this.#relatedRows(relation, { ...rows })
        return product(
          { rows: all, indexes: [] },
          relation.kind === 'belongsTo' ? each : sum(oneRow, each, each),
        )
      }
      case 'objects':
      case 'object':
        return product(this.#rows(query.rows), this.#selection(query.selection))
      case 'page': {
        const { rows, entries, filter } = query
        const page = product(this.#rows(rows), this.#page(entries))
        if (!hasTotal(entries)) return page
        return sum(page, this.#rows({ table: rows.table, where: filter }))
      }
      case 'aggregate':
        return this.#aggregate(query.rows, query.aggregates)
      case 'match':
        return this.#each([query.where]) ?? unbounded
    }
  }

  /** The rows examined for one row: itself and its related rows. */
  #selection(selection: Selection): RowBound {
    const bounds = selection.flatMap((entry) => {
      if (entry.kind === 'count') return [this.#derived(entry.derived)]
      if (entry.kind !== 'relation') return []
      const { relation, rows } = entry
      return [product(this.#relatedRows(relation, rows), this.#selection(entry.selection))]
    })
    return bounds.length === 0 ? oneRow : sum(oneRow, ...bounds)
  }

  #page(entries: readonly PageEntry[]): RowBound {
    return sum(
      oneRow,
      ...entries.flatMap((entry) => {
        if (entry.kind === 'node') return [this.#selection(entry.selection)]
        return entry.kind === 'edges' || entry.kind === 'pageInfo'
          ? [this.#page(entry.entries)]
          : []
      }),
    )
  }

  #aggregate(rows: Rows, { groups }: AggregateSelection): RowBound {
    const found = this.#rows({ ...rows, limit: undefined })
    const related = groups.flatMap(({ column }) =>
      column !== undefined && isDerived(column) ? [this.#derived(column.derived)] : [],
    )
    return related.length === 0 ? found : product(found, sum(oneRow, ...related))
  }

  /** The rows of one table, with the rows that their conditions and order examine in other tables. */
  #rows(selection: BoundedRows): RowBound {
    const found = this.#ordered(selection)
    const { order } = selection
    const derivedColumns = order === undefined ? [] : derivedColumnsOf(order)
    if (derivedColumns.length === 0) return found
    return product(
      found,
      sum(oneRow, ...derivedColumns.map(({ derived }) => this.#derived(derived))),
    )
  }

  #ordered(selection: BoundedRows): RowBound {
    const { table, where, order, limit, distinct } = selection
    const pieces =
      order !== undefined && limit !== undefined && typeof limit === 'number'
        ? splitAtNulls(table, order, where, this.#dialect)
        : undefined
    if (pieces !== undefined && order !== undefined && distinct === undefined) {
      const parts = pieces.map(({ condition, terms }) =>
        this.#range({ ...selection, where: condition, order: { ...order, terms } }),
      )
      return sum(...parts)
    }
    return this.#range(distinct === undefined ? selection : { ...selection, order: undefined })
  }

  #range(selection: BoundedRows): RowBound {
    const parts = partsOf(selection)
    const each = this.#each(parts.map(({ condition }) => condition))
    if (each === undefined) return unbounded
    const found = indexBoundOf(selection, parts, this.#positionOf)
    const all = entireTable(selection.table.name)
    return product(found === undefined ? all : smaller(found, all), each)
  }

  /** The related rows of one row. */
  #relatedRows(
    relation: SqlRelation,
    selection: Omit<BoundedRows, 'table' | 'fixedColumns'>,
  ): RowBound {
    const { target: table, join, foreign, shards } = relation
    if (join !== undefined) {
      // The join table may lead to rows that the filter skips.
      const rows = this.#range({ ...selection, table, fixedColumns: [table.key], order: undefined })
      return product(entireTable(join.name), sum(oneRow, rows))
    }
    const fixedColumns = shards === undefined ? [foreign] : [foreign, shards.foreign]
    return this.#rows({ ...selection, table, fixedColumns })
  }

  /** The rows that are read to compute a derived value of one row. */
  #derived({ path: [step, ...rest], column }: Derived): RowBound {
    if (step === undefined) return oneRow
    const { relation, where } = step
    return product(this.#relatedRows(relation, { where }), this.#derived({ path: rest, column }))
  }

  /** How many rows the conditions examine for each row, including the row. `undefined` if they search a text. */
  #each(conditions: readonly Condition[]): RowBound | undefined {
    const bounds: RowBound[] = []
    for (const condition of conditions) {
      const bound = this.#condition(condition)
      if (bound === undefined) return undefined
      if (bound !== noRows) bounds.push(bound)
    }
    return bounds.length === 0 ? oneRow : sum(oneRow, ...bounds)
  }

  /** How many rows of other tables a condition examines. `undefined` if it searches a text or a JSON value. */
  #condition(condition: Condition): RowBound | undefined {
    switch (condition.kind) {
      case 'all':
      case 'any': {
        const parts = condition.parts.map((part) => this.#condition(part))
        const bounded = parts.filter((part) => part !== undefined)
        if (bounded.length < parts.length) return undefined
        const found = bounded.filter((part) => part !== noRows)
        return found.length === 0 ? noRows : sum(...found)
      }
      case 'not':
        return this.#condition(condition.part)
      case 'related': {
        const { relation, part } = condition
        if (this.#condition(part) === undefined) return undefined
        if (relatedFormOf(condition, this.#dialect) !== 'exists')
          this.#onceBounds.push(this.#range({ table: relation.target, where: part }))
        return this.#relatedRows(relation, { where: part })
      }
      case 'search':
        return undefined
      case 'compare':
        if (condition.path !== undefined || searchesText(condition.operator)) return undefined
        return this.#column(condition.column)
      case 'list':
      case 'null':
        return this.#column(condition.column)
    }
  }

  /** The rows of other tables from which the value of a column is read. */
  #column(column: Column): RowBound {
    return isDerived(column) ? this.#derived(column.derived) : noRows
  }
}

function hasTotal(entries: readonly PageEntry[]): boolean {
  return entries.some(
    (entry) =>
      (entry.kind === 'leaf' && entry.part === 'totalCount') ||
      ((entry.kind === 'edges' || entry.kind === 'pageInfo') && hasTotal(entry.entries)),
  )
}
