/** The statements of one table. Each form of query or change is written once, then cached. */
import { BoundedCache } from '../../core/collections.js'
import type { MaybePromise } from '../../core/maybe-promise.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import type { Column } from '../../engines/contract/table.js'
import { isOneOf, allOf, equals, keyIs, type Condition } from '../../sql/condition.js'
import { derivedColumnsOf } from '../../sql/derived.js'
import { byKey, type Order } from '../../sql/order.js'
import type {
  ReturnedColumns,
  Change,
  Limit,
  Query,
  Reading,
  RelatedRowsOf,
  Rows,
  Selection,
} from '../../sql/tree.js'
import { writeStatement, type Plan } from '../../sql/write-statement.js'
import type { Relation, Table } from '../model/table.js'
import type { ColumnTypes } from './column-types.js'
import type { VisibleRows } from './row-filter.js'

/** The rows of a statement, by a filter that was read. `key` is equal for filters that differ only in their `count` values. */
export interface PreparedFilter {
  readonly condition: Condition | undefined
  readonly key: string
  readonly count: number
  readonly withDeleted: boolean
}

/** The clauses of a list in addition to its filter and order. */
export interface ListClauses {
  readonly hasLimit?: boolean
  readonly hasOffset?: boolean
  readonly distinct?: readonly Column[] | undefined
  readonly selected?: ListSelection | undefined
  readonly reading?: Reading | undefined
  readonly total?: TotalClause | undefined
}

/** The number of all rows of a list. Its limit follows the other values. */
export interface TotalClause {
  readonly condition: Condition | undefined
  /** Equal for totals whose conditions differ only in values. */
  readonly key: string
  readonly hasLimit: boolean
}

/** Counts and related rows that are read with the rows. They follow the values of the order. */
export interface ListSelection {
  /** Equal for queries that differ only in values. */
  readonly key: string
  readonly selection: Selection<Relation>
  /** The maximum number of related rows, as `maxRelated` in `RowsQuery`. */
  readonly maxRows?: number | undefined
}

/** The maximum number of cached statements for a table. */
const maxPlans = 1000

export class TablePlans {
  readonly table: Table
  /** `select … where id = ?` */
  readonly find: Plan
  /**
   * The types of the table's columns in the database, by name. They are read once, and again after a failed
   * statement.
   */
  types: MaybePromise<ColumnTypes> | undefined
  readonly #dialect: Dialect
  readonly #cachedPlans = new BoundedCache<Plan>(maxPlans)

  constructor(table: Table, dialect: Dialect) {
    this.table = table
    this.#dialect = dialect
    this.find = writeStatement({ query: 'rows', rows: { table, where: keyIs(table, 0) } }, dialect)
  }

  /** @param key equal for trees of the same shape */
  get(key: string, make: () => Query | Change): Plan {
    return this.#cachedPlans.get(key, () => writeStatement(make(), this.#dialect))
  }

  /** As `find`, but locks the row until the transaction ends. */
  get findToWrite(): Plan {
    const { table } = this
    return this.get('F', () => ({
      query: 'rows',
      rows: { table, where: keyIs(table, 0) },
      locks: true,
    }))
  }

  /** Values: the filter's, then limit, then offset, then the limit of the total. */
  list(filter: PreparedFilter, order: Order, clauses: ListClauses): Plan {
    const { hasLimit = false, hasOffset = false, distinct, selected, reading, total } = clauses
    const { count } = filter
    const only = distinct === undefined ? '' : `d${namesOf(distinct)}`
    const form = `${hasLimit ? 'L' : ''}${hasOffset ? 'O' : ''}${reading ?? ''}`
    const counted = total === undefined ? '' : `t${total.hasLimit ? 'L' : ''}${total.key}|`
    const key = `l${keyOf(filter)}o${order.key}${form}${only}${counted}${selected?.key ?? ''}`
    return this.get(key, () => ({
      query: 'rows',
      rows: {
        ...this.#rows(filter, hasLimit ? count : undefined),
        order,
        distinct,
        reading,
        offset: hasOffset ? count + (hasLimit ? 1 : 0) : undefined,
      },
      derived: derivedColumnsOf(order).map((column) => column.derived),
      selection: selected?.selection,
      maxRelated: selected?.maxRows,
      total: total && {
        where: total.condition,
        limit: total.hasLimit ? count + Number(hasLimit) + Number(hasOffset) : undefined,
      },
    }))
  }

  /** Values: the filter's. */
  count(filter: PreparedFilter, distinct?: readonly Column[]): Plan {
    const only = distinct === undefined ? '' : `d${namesOf(distinct)}`
    return this.get(`c${keyOf(filter)}${only}`, () => ({
      query: 'count',
      rows: { ...this.#rows(filter), distinct },
    }))
  }

  /** Counts up to a number of rows. Values: the filter's, then that number. */
  countUpTo(filter: PreparedFilter): Plan {
    return this.get(`m${keyOf(filter)}`, () => ({
      query: 'count',
      rows: this.#rows(filter, filter.count),
    }))
  }

  /** Counts matches among the first and the last rows. Values: the filter's, then their number. */
  sample(filter: PreparedFilter): Plan {
    return this.get(`s${keyOf(filter)}`, () => ({
      query: 'count',
      rows: this.#rows(filter),
      sampleSize: filter.count,
    }))
  }

  /** Whether a row with some values would match a condition. Values: the condition's, then those of the columns. */
  matches(
    { condition: where, key, count }: PreparedFilter & { readonly condition: Condition },
    columns: readonly Column[],
  ): Plan {
    const { table } = this
    const values = new Map(columns.map((column, index) => [column, count + index]))
    return this.get(`w${key}`, () => ({ query: 'match', table, values, where }))
  }

  /** The rows by their keys, locked until the transaction ends. Values: the filter's, then limit. */
  lockRows(filter: PreparedFilter): Plan {
    return this.get(`H${filter.key}`, () => ({
      query: 'rows',
      rows: { ...this.#rows(filter, filter.count), order: byKey(this.table) },
      locks: true,
    }))
  }

  /** Values: the values of `columns`, once for every row; or one list for each column, of these types. */
  insert(
    columns: readonly Column[],
    of: number | readonly string[],
    returns: ReturnedColumns,
  ): Plan {
    const { table } = this
    // The columns are all written ones, or all except a key that the database generates.
    const isKeyed = columns.length === table.writtenColumns.length
    const key = `i${isKeyed ? 'k' : ''}${String(of)}${returns}`
    return this.get(key, () => ({
      change: 'insert',
      table,
      columns,
      rowCountOrTypes: of,
      returns,
    }))
  }

  /**
   * Values: the values of `rowFilter`, the values of `columns`, then the key.
   *
   * @param before columns whose old values the statement returns after the row
   * @param sums the columns of `columns` whose values are added
   */
  update(
    columns: readonly Column[],
    rowFilter?: VisibleRows,
    before: readonly Column[] = [],
    sums: readonly Column[] = [],
  ): Plan {
    const { table } = this
    const first = rowFilter?.values.length ?? 0
    const past = before.length === 0 ? '' : `b${namesOf(before)}|`
    const added = sums.length === 0 ? '' : `+${namesOf(sums)}|`
    return this.get(`u${past}${added}${rowFilter?.key ?? ''}|${namesOf(columns)}`, () => {
      const where = allOf(keyIs(table, first + columns.length), rowFilter?.condition)
      return {
        change: 'update',
        table,
        where,
        columns,
        sums,
        firstSlot: first,
        returns: 'row',
        previousColumns: before,
      }
    })
  }

  /** As `update`, for a row that is marked as deleted. */
  restore(columns: readonly Column[]): Plan {
    const table = { ...this.table, deletedAt: undefined }
    return this.get(`B${namesOf(columns)}`, () => ({
      change: 'update',
      table,
      where: keyIs(table, columns.length),
      columns,
      firstSlot: 0,
      returns: 'row',
    }))
  }

  /**
   * Values: the filter's, the values of the columns, then two bounds for each sum.
   *
   * @param sums the columns of `columns` whose values are added; the statement returns whether the sums fit
   */
  updateAll(
    { condition: where, key, count }: PreparedFilter,
    columns: readonly Column[],
    sums: readonly Column[],
    returns: 'nothing' | 'key',
  ): Plan {
    const { table } = this
    const first = count
    return this.get(`U${returns}${namesOf(columns)}+${namesOf(sums)}|${key}`, () => {
      const bounds = sums.flatMap((_, index) => [2 * index, 2 * index + 1])
      const fits = bounds.map((index) => first + columns.length + index)
      const change = {
        change: 'update',
        table,
        where,
        columns,
        sums,
        firstSlot: first,
        returns,
      } as const
      return sums.length === 0 ? change : { ...change, boundSlots: fits }
    })
  }

  /**
   * Values: lists of each column of the keys and of the columns' values, of the bounds of `sums` and of versions, of these types, then the
   * number of keys and the shard of all rows.
   */
  updateEach(
    columns: readonly Column[],
    types: readonly string[],
    sums: readonly Column[] = [],
    hasVersions = false,
  ): Plan {
    const { table } = this
    const key = `e${hasVersions ? 'v' : ''}${namesOf(columns)}+${namesOf(sums)}|${types.join()}`
    return this.get(key, () => ({ change: 'updateEach', table, columns, types, sums, hasVersions }))
  }

  /**
   * `insert … on conflict (by) do update`. Values: the values of `columns`.
   *
   * @param changes the columns that an existing row takes over
   */
  upsert(by: readonly Column[], columns: readonly Column[], changes: readonly Column[]): Plan {
    const { table } = this
    return this.get(`o${namesOf(by)}|${namesOf(columns)}|${namesOf(changes)}`, () => ({
      change: 'insert',
      table,
      columns,
      rowCountOrTypes: 1,
      returns: 'row',
      onConflict: { conflictColumns: by, updates: changes },
    }))
  }

  /**
   * Values: the time if the table soft-deletes, then the key, the shard and the version.
   *
   * @param returns the columns of the deleted rows to return
   * @param hasVersion delete only a row at a version
   */
  remove(returns: readonly Column[] = [], hasVersion = false): Plan {
    const { table } = this
    const { version, shard } = table
    return this.get(`d${hasVersion ? 'v' : ''}${namesOf(returns)}`, () => {
      const at = this.#firstKeySlot
      const versionSlot = at + (shard === undefined ? 1 : 2)
      const isAt = hasVersion && version !== undefined ? equals(version, versionSlot) : undefined
      return this.#delete(allOf(keyIs(table, at), isAt), 0, returns)
    })
  }

  /** Values: the time if the table soft-deletes, then the keys as one packed list, and the shard. */
  removeEach(returns: readonly Column[] = [this.table.key]): Plan {
    return this.get(`D${namesOf(returns)}`, () =>
      this.#delete(this.#areKeys(this.#firstKeySlot), 0, returns),
    )
  }

  /** Deletes rows for good, although the table may soft-delete. Values: the keys as one packed list, and the shard. */
  erase(): Plan {
    const table = { ...this.table, deletedAt: undefined }
    const where = this.#areKeys(0)
    return this.get('X', () => ({ change: 'delete', table, where, at: 0, returns: [] }))
  }

  /** Writes the same values into several rows, as `replace` does. Values: they, the keys as one packed list, the shard. */
  replaceEach(columns: readonly Column[]): Plan {
    const table = { ...this.table, version: undefined, deletedAt: undefined }
    const where = this.#areKeys(columns.length)
    return this.get(`S${namesOf(columns)}`, () => ({
      change: 'update',
      table,
      where,
      columns,
      firstSlot: 0,
      returns: 'nothing',
    }))
  }

  /**
   * Rows by their keys, locked until the transaction ends. Values: the keys as one packed list, and the shard.
   *
   * @param stored the columns to return as they are stored; default, complete rows for records
   */
  lockEach(stored?: readonly Column[]): Plan {
    const { table } = this
    const rows: Rows = { table, where: this.#areKeys(0), order: byKey(table) }
    const columns = stored && { stored }
    return this.get(`L${stored === undefined ? '' : `:${namesOf(stored)}`}`, () => ({
      query: 'rows',
      rows,
      ...columns,
      locks: true,
    }))
  }

  /** The stored keys and shards of rows, locked until the transaction ends. Values: the filter's. */
  lockKeys(filter: PreparedFilter): Plan {
    const { table } = this
    const { key, shard } = table
    const stored = shard === undefined ? [key] : [key, shard]
    const rows: Rows = { ...this.#rows(filter), order: byKey(table) }
    return this.get(`k${filter.key}`, () => ({ query: 'rows', rows, stored, locks: true }))
  }

  /** Values: the filter's, then the time if the table soft-deletes. */
  removeAll({ condition, key, count }: PreparedFilter): Plan {
    return this.get(`A${key}`, () => this.#delete(condition, count, []))
  }

  /** Matches the keys of a packed list. The next slot contains their shard, if the table has shards. */
  #areKeys(slot: number): Condition {
    const { key, shard } = this.table
    const isKey = isOneOf(key, slot)
    return shard === undefined ? isKey : { kind: 'all', parts: [isKey, equals(shard, slot + 1)] }
  }

  get #firstKeySlot(): number {
    return this.table.deletedAt === undefined ? 0 : 1
  }

  #delete(where: Condition | undefined, at: number, returns: readonly Column[]): Change {
    return { change: 'delete', table: this.table, where, at, returns }
  }

  /**
   * The rows of this table that refer to other rows by a `belongsTo`, soft-deleted ones included. They are locked until
   * the transaction ends. Values: the keys of the other rows as one list, and their shard.
   */
  dependents({ name, local, shards }: Relation, stored: readonly Column[]): Plan {
    const { table } = this
    return this.get(`E${name}:${namesOf(stored)}`, () => {
      const where = allOf(isOneOf(local, 0), shards && equals(shards.local, 1))
      const rows: Rows = { table, where, withDeleted: true, order: byKey(table) }
      return { query: 'rows', rows, stored, locks: true }
    })
  }

  /**
   * Whether a row has this value in the column. Soft-deleted rows count. Value: the value.
   */
  refers(column: Column): Plan {
    const { table } = this
    const { shard } = table
    return this.get(`h${column.name}`, () => {
      const isMine = shard === undefined || column === shard ? undefined : equals(shard, 1)
      const where = allOf(equals(column, 0), isMine)
      const rows: Rows = { table, where, withDeleted: true, limit: { fixed: 1 } }
      return { query: 'rows', rows, stored: [] }
    })
  }

  /** As `refers`, for one of several values and rows that are not deleted. Values: the values as one packed list, the shard. */
  refersToSome(column: Column): Plan {
    const { table } = this
    const { shard } = table
    return this.get(`n${column.name}`, () => {
      const isMine = shard === undefined || column === shard ? undefined : equals(shard, 1)
      const where = allOf(isOneOf(column, 0), isMine)
      return { query: 'rows', rows: { table, where, limit: { fixed: 1 } }, stored: [] }
    })
  }

  /** Writes columns of one row without incrementing its version. Values: the values of the columns, then the key. */
  replace(columns: readonly Column[]): Plan {
    const table = { ...this.table, version: undefined }
    return this.get(`R${namesOf(columns)}`, () => {
      const where = keyIs(table, columns.length)
      return { change: 'update', table, where, columns, firstSlot: 0, returns: 'nothing' }
    })
  }

  /**
   * The keys among the given ones whose rows are not deleted. Values: the keys as one packed list, then the
   * shard.
   */
  undeleted(): Plan {
    const { table } = this
    const { key, shard } = table
    return this.get('K', () => {
      const where = allOf(isOneOf(key, 0), shard && equals(shard, 1))
      return { query: 'rows', rows: { table, where }, stored: [key] }
    })
  }

  /**
   * The rows of a relation that are not deleted, each after the key that refers to it. Values: the values of the condition in
   * `rows`, then the keys as one packed list, or `count` single keys, then the shard.
   *
   * @param selected `key` is equal for the same `rows`, `first` is the number of values in them
   */
  related(
    relation: Relation,
    count: number | undefined,
    selected: {
      readonly key: string
      readonly first: number
      readonly rows: RelatedRowsOf | undefined
    },
  ): Plan {
    const { key, first, rows } = selected
    return this.get(`r${relation.name}:${count ?? 'packed'}|${key}`, () => {
      const keys = Array.from({ length: count ?? 1 }, (_, index) => first + index)
      const shard = relation.shards && first + keys.length
      return { query: 'relatedRows', relation, keys, isPacked: count === undefined, shard, rows }
    })
  }

  /** Values: the key of this record, then of the other. */
  link({ name, join }: Relation, removes: boolean): Plan {
    if (join === undefined) throw new TypeError(`${name} has no join table.`)
    const change = removes ? 'unlink' : 'link'
    return this.get(`${change}${name}`, () => ({ change, join }))
  }

  #rows({ condition: where, withDeleted }: PreparedFilter, limit?: Limit): Rows {
    return { table: this.table, where, withDeleted, limit }
  }
}

function namesOf(columns: readonly Column[]): string {
  return columns.map(({ name }) => name).join(',')
}

function keyOf({ key, withDeleted }: PreparedFilter): string {
  return withDeleted ? `${key}D` : key
}
