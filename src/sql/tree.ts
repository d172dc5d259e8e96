/**
 * Queries and changes of records as plain data. Repositories, `crud`, GraphQL, hooks and cascades build these trees, and
 * `write-statement.ts` writes them as SQL, once for each shape, in a dialect (`engines/<name>/dialect.ts`). A tree contains no
 * values. A slot is the index of a value in the list that is passed with each run.
 *
 * ```ts
 * // { products(where: { price: { gt: 5 } }, limit: 10) { name category { name } } }
 * {
 *   query: 'objects',
 *   rows: {
 *     table: product, // soft-deletes
 *     where: { kind: 'compare', column: price, operator: 'gt', slot: 0 },
 *     order: { terms: [{ column: id, … }], key: '' },
 *     limit: 1,
 *   },
 *   selection: [
 *     { kind: 'column', key: 'name', field: { column: name, form: 'text', … } },
 *     { kind: 'relation', key: 'category', relation: product.category, rows: {}, selection: [{ kind: 'column', … }] },
 *   ],
 * }
 * ```
 * In SQLite:
 * ```sql
 * select json_group_array(json_object('name', "t0"."name", 'category',
 *     case when "t1"."id" is not null then json_object('name', "t1"."name") end))
 *   from (select "t0"."name", "t0"."category_id" from "product" as "t0"
 *     where "t0"."price" > ? and "t0"."deleted_at" is null order by "t0"."id" asc limit ? + 0) as "t0"
 *   left join "category" as "t1" on "t1"."id" = "t0"."category_id"
 * ```
 * In PostgreSQL:
 * ```sql
 * select '[{"name":', string_agg((coalesce(cast(to_json("t0"."name") as text), 'null') || ',"category":' ||
 *     coalesce("t1o"."filigree_owner", 'null')), '},{"name":'), '}]'
 *   from (select "t0"."name", "t0"."category_id" from "product" as "t0"
 *     where "t0"."price" > $1 and "t0"."deleted_at" is null order by "t0"."id" asc limit $2) as "t0"
 *   left join lateral (select ('{"name":' || … || '}') as filigree_owner
 *     from "category" as "t1" where "t1"."id" = "t0"."category_id" limit 1) as "t1o" on true
 * ```
 *
 * Each concern has one location. Access rules add conditions in `records/policy/client-view.ts`, shards add one in
 * `records/statements/shard.ts`. `notDeleted` leaves out soft-deleted rows, `WriteContext.joinTarget` and `isRelated` join
 * relations (`write-context.ts`), and `change-writer.ts` increments versions.
 */
import type { JsonField, NestedParts } from '../engines/contract/json-sql.js'
import type { Column } from '../engines/contract/table.js'
import type { JoinTable, SqlTable, SqlRelation } from './table.js'
import type { Condition } from './condition.js'
import type { Derived } from './derived.js'
import type { Operator } from './operators.js'
import type { Order } from './order.js'

/** A slot, or the number itself. Databases make better plans for a limit that is part of the statement. */
export type Limit = number | { readonly fixed: number }

/** `counted`: by the number of matches. `scanned`: the first rows of the order are tested before the matches are counted. */
export type Reading = 'counted' | 'scanned'

/** A selection of rows of a table. */
export interface Rows {
  readonly table: SqlTable
  readonly where?: Condition | undefined
  /** Includes soft-deleted rows. Default false. */
  readonly withDeleted?: boolean
  readonly order?: Order | undefined
  readonly limit?: Limit | undefined
  /** The slot of the offset. */
  readonly offset?: number | undefined
  /** Of rows that are equal in these columns, only the first one in the order is selected. */
  readonly distinct?: readonly Column[] | undefined
  /** How the matches of a list with a limit are read (`few-matches.ts`). Default: as the planner of the database decides. */
  readonly reading?: Reading | undefined
}

/** Which related rows of each row, and their order. Default: all, by key. */
export type RelatedRowsOf = Omit<Rows, 'table' | 'distinct' | 'reading'>

/**
 * What is read of each row: values under keys, and related rows with a selection of their own. The result is records, which
 * always have all columns of their table, or JSON with only these keys. `selection-writer.ts` writes both.
 */
export type Selection<R extends SqlRelation = SqlRelation> = readonly SelectedValue<R>[]

/** One key and its value. */
export type SelectedValue<R extends SqlRelation = SqlRelation> =
  /** A constant text. JSON only. */
  | { readonly kind: 'name'; readonly key: string; readonly name: string }
  /** JSON only. */
  | { readonly kind: 'column'; readonly key: string; readonly field: JsonField }
  /** JSON only. */
  | NestedParts
  /** The number of related rows. */
  | { readonly kind: 'count'; readonly key: string; readonly derived: Derived<R> }
  | RelationValue<R>

/** A list of related rows. Of `belongsTo`: the row, or null. */
export interface RelationValue<R extends SqlRelation = SqlRelation> {
  readonly kind: 'relation'
  readonly key: string
  readonly relation: R
  readonly rows: RelatedRowsOf
  readonly selection: Selection<R>
}

export type Query =
  | RowsQuery
  | CountQuery
  | RelatedRowsQuery
  | ObjectsQuery
  | PageQuery
  | { readonly query: 'aggregate'; readonly rows: Rows; readonly aggregates: AggregateSelection }
  /** Whether a row with these values would match the condition. The values of the map are slots. */
  | {
      readonly query: 'match'
      readonly table: SqlTable
      readonly values: ReadonlyMap<Column, number>
      readonly where: Condition
    }

/** Rows, with the columns of the record. */
export interface RowsQuery {
  readonly query: 'rows'
  readonly rows: Rows
  /** Columns to return as they are stored. Default: all columns, converted for records. */
  readonly stored?: readonly Column[]
  /** Values from other tables, after the columns of each row. */
  readonly derived?: readonly Derived[] | undefined
  /** Counts, and related rows as JSON, after those values. */
  readonly selection?: Selection | undefined
  /** Maximum number of related rows of one row and relation. If there are more, the value is not a list of rows. */
  readonly maxRelated?: number | undefined
  /** The number of all rows of a list, on each row after its derived values. */
  readonly total?: Pick<Rows, 'where' | 'limit'> | undefined
  /** Locks the rows until the transaction ends. */
  readonly locks?: boolean
}

/** Counts rows, up to `limit` if there is one. */
export interface CountQuery {
  readonly query: 'count'
  readonly rows: Rows
  /** The slot of a number: only this many rows at each end of the table are examined. */
  readonly sampleSize?: number
}

/** The related rows of several rows. Each row is returned after the key of the row that it is related to. */
export interface RelatedRowsQuery {
  readonly query: 'relatedRows'
  readonly relation: SqlRelation
  /** The slots of the keys. */
  readonly keys: readonly number[]
  /** The only slot contains all keys as one list. */
  readonly isPacked: boolean
  /** The slot of the shard of all rows. */
  readonly shard?: number | undefined
  readonly rows?: RelatedRowsOf | undefined
}

/** Rows as one JSON text: a list of objects, or one object. */
export interface ObjectsQuery {
  readonly query: 'objects' | 'object'
  readonly rows: Rows
  readonly selection: Selection
}

/** A page as one JSON text. */
export interface PageQuery {
  readonly query: 'page'
  /** The rows in reading order, one more than the page has. */
  readonly rows: Rows & { readonly order: Order }
  /** The order of the page. */
  readonly order: Order
  /** The slot of the maximum number of rows. */
  readonly pageSize: number
  /** The filter of the total count. */
  readonly filter: Condition | undefined
  /** The list is read from its end. */
  readonly isBackward: boolean
  /** There are rows before the first row that is read. */
  readonly hasEarlierRows: boolean
  readonly entries: readonly PageEntry[]
}

export type PageEntry =
  | { readonly kind: 'name'; readonly key: string; readonly name: string }
  | {
      readonly kind: 'leaf'
      readonly key: string
      readonly part:
        'totalCount' | 'hasNextPage' | 'hasPreviousPage' | 'startCursor' | 'endCursor' | 'cursor'
    }
  | {
      readonly kind: 'edges' | 'pageInfo'
      readonly key: string
      readonly entries: readonly PageEntry[]
    }
  | { readonly kind: 'node'; readonly key: string; readonly selection: Selection }

/** The columns that a change returns of each row that it wrote. */
export type ReturnedColumns = 'nothing' | 'key' | 'row'

export type Change =
  | InsertChange
  /** Updates existing rows. The values of `columns` are in the slots from `firstSlot` on. Versions are incremented. */
  | {
      readonly change: 'update'
      readonly table: SqlTable
      readonly where: Condition | undefined
      readonly columns: readonly Column[]
      /** The columns whose values are added to the stored values. */
      readonly sums?: readonly Column[]
      readonly firstSlot: number
      readonly returns: 'nothing' | 'key' | 'row'
      /**
       * The slots of the lower and upper bound of each of `sums`. The change returns whether all sums are within their bounds,
       * after the key or alone. If no keys are returned, remote databases return the number of rows and of rows out of bounds.
       */
      readonly boundSlots?: readonly number[]
      /** Columns whose old values are returned after the row. Remote databases only. */
      readonly previousColumns?: readonly Column[]
    }
  /**
   * Updates several rows, each with its own values, or none if a row is missing. Values: a list for each column of the key, for
   * each of `columns`, and the number of keys. The rows are locked in the order of their keys, so that two such updates cannot deadlock.
   */
  | {
      readonly change: 'updateEach'
      readonly table: SqlTable
      readonly columns: readonly Column[]
      /** The columns whose values are added to the stored values. Lists of their lower and upper bounds follow the values. */
      readonly sums?: readonly Column[]
      /** A list of the expected versions follows. */
      readonly hasVersions?: boolean
      /** The database types of the lists, in their order. */
      readonly types: readonly string[]
    }
  /** Deletes rows. If the table soft-deletes, the rows stay, and the slot `at` contains the time. */
  | {
      readonly change: 'delete'
      readonly table: SqlTable
      readonly where: Condition | undefined
      readonly at: number
      /** The columns to return as they are stored. */
      readonly returns: readonly Column[]
    }
  /** Links two rows by a join table, or removes the link. Values: both keys. */
  | { readonly change: 'link' | 'unlink'; readonly join: JoinTable }

/** Inserts rows. Values: the values of `columns` for each row, or a list for each column. */
export interface InsertChange {
  readonly change: 'insert'
  readonly table: SqlTable
  readonly columns: readonly Column[]
  /** The number of rows, or, if the values are lists, the database types of the columns. */
  readonly rowCountOrTypes: number | readonly string[]
  readonly returns: ReturnedColumns
  /** An existing row with the same values in `conflictColumns` gets the new values of `updates`. */
  readonly onConflict?: {
    readonly conflictColumns: readonly Column[]
    readonly updates: readonly Column[]
  }
}

/** A value of a group: the number of its rows, a field that all rows share, or a function of a field. */
export interface AggregateValue {
  /** `undefined`: the rows are counted. */
  readonly column: Column | undefined
  /** SQL that contains the column as `{c}` and compares and sorts like the value. Default: the column. */
  readonly template?: string
  /** The value is returned as text, because it would lose digits. Default: like the column. */
  readonly isText?: boolean
  /** SQL with `{c}` by which groups are ordered, if their texts are not in the order of time. It is a function of the group. */
  readonly order?: string
}

export interface AggregateSelection {
  readonly groups: readonly AggregateValue[]
  readonly measures: readonly AggregateValue[]
  readonly having: readonly MeasureTest[]
  readonly order: readonly {
    readonly measure: AggregateValue
    readonly descending: boolean
    readonly nullsFirst: boolean
  }[]
}

export interface MeasureTest {
  readonly measure: AggregateValue
  readonly operator: Operator
  readonly slot: number
  /** For tests of null: the expected result. For `in`: whether null is one of the values. */
  readonly isNull?: boolean | undefined
  /** The values of `in`. */
  readonly slots?: readonly number[]
}
