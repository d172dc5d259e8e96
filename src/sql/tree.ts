/**
 * What a record's statement asks or changes, as plain data. Repositories, `crud`, GraphQL, hooks and cascades make such trees;
 * `write.ts` alone makes text of them, once for each shape of question, in the words of a dialect (`engines/<name>/dialect.ts`).
 * Values are not in a tree: a slot is a place among those that each run brings.
 *
 * ```ts
 * // { products(where: { price: { gt: 5 } }, limit: 10) { name category { name } } }
 * {
 *   ask: 'objects',
 *   rows: {
 *     table: product, // soft-deletes
 *     where: { kind: 'compare', column: price, operator: 'gt', slot: 0 },
 *     order: { terms: [{ column: id, … }], key: '' },
 *     limit: 1,
 *   },
 *   form: [
 *     { kind: 'column', key: 'name', field: { column: name, form: 'text', … } },
 *     { kind: 'owner', key: 'category', tie: product.category, form: [{ kind: 'column', key: 'name', … }] },
 *   ],
 * }
 * ```
 * on SQLite:
 * ```sql
 * select json_group_array(json_object('name', "t0"."name", 'category',
 *     case when "t1"."id" is not null then json_object('name', "t1"."name") end))
 *   from (select "t0"."name", "t0"."category_id" from "product" as "t0"
 *     where "t0"."price" > ? and "t0"."deleted_at" is null order by "t0"."id" asc limit ? + 0) as "t0"
 *   left join "category" as "t1" on "t1"."id" = "t0"."category_id"
 * ```
 * on PostgreSQL:
 * ```sql
 * select '[{"name":', string_agg((coalesce(cast(to_json("t0"."name") as text), 'null') || ',"category":' ||
 *     coalesce("t1o"."filigree_owner", 'null')), '},{"name":'), '}]'
 *   from (select "t0"."name", "t0"."category_id" from "product" as "t0"
 *     where "t0"."price" > $1 and "t0"."deleted_at" is null order by "t0"."id" asc limit $2) as "t0"
 *   left join lateral (select ('{"name":' || … || '}') as filigree_owner
 *     from "category" as "t1" where "t1"."id" = "t0"."category_id" limit 1) as "t1o" on true
 * ```
 *
 * Each thought that changes a tree, or what is written of it, has one place: rights bind conditions to what a client may see
 * (`records/policy/client-view.ts`), a shard is one more condition (`records/statements/shard.ts`), soft-deleted rows are left
 * out by `living`, relations are joined by `Writing.reach` and `isTied` (`writing.ts`), versions count on in `changes.ts`.
 */
import type { JsonField } from '../engines/contract/json-sql.js'
import type { Column } from '../engines/contract/table.js'
import type { Condition } from './condition.js'
import type { Derived } from './derived.js'
import type { AggregateSelection } from './aggregates.js'
import type { Order } from './order.js'
import type { JoinTable, SqlTable, SqlRelation } from './table.js'

/** A place among the values, or the number itself: databases plan better for one that they see. */
export type Limit = number | { readonly fixed: number }

/** Rows of a table: which, in what order, how many. */
export interface Rows {
  readonly table: SqlTable
  readonly where?: Condition | undefined
  /** Includes soft-deleted rows. Default false. */
  readonly withDeleted?: boolean
  readonly order?: Order | undefined
  readonly limit?: Limit | undefined
  /** A slot. */
  readonly offset?: number | undefined
  /** Of rows that are equal in these columns, only the first one in the order. */
  readonly distinct?: readonly Column[] | undefined
}

/** Rows behind a row. */
export interface RelatedSelection<R extends SqlRelation = SqlRelation> {
  readonly relation: R
  readonly where: Condition | undefined
  readonly nested: readonly RelatedSelection<R>[]
}

export type Query =
  | RowsQuery
  | CountQuery
  | RelatedRowsQuery
  | ObjectsQuery
  | PageQuery
  | { readonly query: 'aggregate'; readonly rows: Rows; readonly aggregates: AggregateSelection }
  /** Whether a row would be among others, whose values stand in slots. */
  | {
      readonly query: 'match'
      readonly table: SqlTable
      readonly values: ReadonlyMap<Column, number>
      readonly where: Condition
    }

/** Rows as records have them. */
export interface RowsQuery {
  readonly query: 'rows'
  readonly rows: Rows
  /** Some columns as they are stored. Default: all, as records have them. */
  readonly stored?: readonly Column[]
  /** Values of each row from other tables, behind its columns. */
  readonly derived?: readonly Derived[] | undefined
  /** Each row's related rows, as JSON behind those. */
  readonly related?: readonly RelatedSelection[] | undefined
  /** So many related rows may come behind one row's relation; the answer says where there are more. */
  readonly maxRelated?: number | undefined
  /** Holds the rows until the transaction ends. */
  readonly locks?: boolean
}

/** How many rows there are: at most `limit`, if the rows have one. */
export interface CountQuery {
  readonly query: 'count'
  readonly rows: Rows
  /** A slot: only the first and the last rows of the table are looked at, so many of each. */
  readonly sampleSize?: number
}

/** The rows that a relation leads to from several rows, each behind the key that leads there. */
export interface RelatedRowsQuery {
  readonly query: 'relatedRows'
  readonly relation: SqlRelation
  /** Slots of those keys. */
  readonly keys: readonly number[]
  /** The only slot holds all of them as one list. */
  readonly isPacked: boolean
  /** The slot of the shard that all of them are in. */
  readonly shard?: number | undefined
  /** Which of each one's rows, in what order. Default: all, by key. */
  readonly rows?: Omit<Rows, 'table' | 'distinct'>
}

/** Rows as one JSON text: a list of objects, or the only one. */
export interface ObjectsQuery {
  readonly query: 'objects' | 'object'
  readonly rows: Rows
  readonly form: ObjectForm
}

export type ObjectForm = readonly ObjectEntry[]

/** A key of an object. */
export type ObjectEntry =
  | { readonly kind: 'name'; readonly key: string; readonly name: string }
  | { readonly kind: 'column'; readonly key: string; readonly field: JsonField }
  /** The one row that another belongs to, or null. */
  | {
      readonly kind: 'owner'
      readonly key: string
      readonly relation: SqlRelation
      readonly form: ObjectForm
      readonly where: Condition | undefined
    }
  /** The number of related rows. */
  | { readonly kind: 'count'; readonly key: string; readonly derived: Derived }
  | {
      readonly kind: 'list'
      readonly key: string
      readonly relation: SqlRelation
      readonly form: ObjectForm
      readonly rows: Omit<Rows, 'table' | 'distinct'>
    }

/** A page as one JSON text. */
export interface PageQuery {
  readonly query: 'page'
  /** In the order of reading, and one more than the page has. */
  readonly rows: Rows & { readonly order: Order }
  /** The page's own order. */
  readonly order: Order
  /** How many rows the page has at most: a slot. */
  readonly pageSize: number
  /** All rows that are counted. */
  readonly filter: Condition | undefined
  /** It is read from its end. */
  readonly isBackward: boolean
  /** Something stands before the place where reading begins. */
  readonly hasEarlierRows: boolean
  readonly form: readonly PageEntry[]
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
      readonly form: readonly PageEntry[]
    }
  | { readonly kind: 'node'; readonly key: string; readonly form: ObjectForm }

/** What a change answers of the rows that it wrote. */
export type ReturnedColumns = 'nothing' | 'key' | 'row'

export type Change =
  | InsertChange
  /** Of the rows that there are. Values of `columns` stand in the slots from `first` on; versions count on by themselves. */
  | {
      readonly change: 'update'
      readonly table: SqlTable
      readonly where: Condition | undefined
      readonly columns: readonly Column[]
      /** Those of `columns` whose values are added to the stored ones. */
      readonly sums?: readonly Column[]
      readonly firstSlot: number
      readonly returns: 'nothing' | 'key' | 'row'
      /**
       * Answers, behind the key or alone, whether each of `sums` lies within its bounds: their slots, two each. Databases that
       * are not local answer the numbers of all rows and of those that do not fit, where no keys are answered.
       */
      readonly boundSlots?: readonly number[]
      /** Columns that it answers behind the row, as they were before; not of databases that are local. */
      readonly previousColumns?: readonly Column[]
    }
  /**
   * Changes all of several rows or, where one is not there, none. Values: a list of keys, then one for each of `columns`,
   * then the number of keys. The rows are held in the order of their keys first, so that two that change the same rows do not
   * wait for each other.
   */
  | {
      readonly change: 'updateEach'
      readonly table: SqlTable
      readonly columns: readonly Column[]
      /** Those of `columns` whose values are added to the stored ones: lists of the lowest and highest stored values follow. */
      readonly sums?: readonly Column[]
      /** Behind those a list of the versions that the rows must be at follows. */
      readonly hasVersions?: boolean
      /** Of the lists, in their order. */
      readonly types: readonly string[]
    }
  /** Of a table that soft-deletes the rows stay, with the time in a slot. */
  | {
      readonly change: 'delete'
      readonly table: SqlTable
      readonly where: Condition | undefined
      readonly at: number
      /** The columns that it answers, as they are stored. */
      readonly returns: readonly Column[]
    }
  /** Ties two rows by a join table, or unties them. Values: both keys. */
  | { readonly change: 'link' | 'unlink'; readonly join: JoinTable }

/** Values: those of `columns` for each row, or a list of them for each column. */
export interface InsertChange {
  readonly change: 'insert'
  readonly table: SqlTable
  readonly columns: readonly Column[]
  /** How many rows, or the types of the columns in the database. */
  readonly rowCountOrTypes: number | readonly string[]
  readonly returns: ReturnedColumns
  /** A row that has these values already takes over these columns. */
  readonly onConflict?: {
    readonly conflictColumns: readonly Column[]
    readonly updates: readonly Column[]
  }
}
