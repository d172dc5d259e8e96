/** Writes `select` statements of rows, with their conditions, order and limit. */
import { join, name, raw, sql, type Sql, slot, wrap } from '../engines/contract/sql-text.js'
import { isApart, type SqlTable, type SqlRelation } from './table.js'
import { searchIn, type Condition } from './condition.js'
import { scanConditionsOf, sizeOf, writeByCount, writeByScan } from './few-matches.js'
import {
  byKey,
  writeOrder,
  type Order,
  type OrderTerm,
  splitAtNulls,
  writeNullPieces,
} from './order.js'
import type { RelatedRowsOf, RelatedRowsQuery, CountQuery, Rows } from './tree.js'
import { ref, notDeleted, type WriteContext } from './write-context.js'
import type { BestMatches, RankedRows, Ranking } from '../engines/contract/search-sql.js'
import { storedColumnsOf, type Column } from '../engines/contract/table.js'
import { isListed, keyAsValue, keyColumns, partitionPartOf, rowOf } from './key-columns.js'
import { ConditionWriter, definedParts } from './condition-writer.js'

/** Restricts rows to the related rows of the row of another alias. */
export interface ParentRow {
  readonly relation: SqlRelation
  readonly alias: string
}

type FilteredRows = Pick<Rows, 'table' | 'where' | 'withDeleted'>

interface FilterOptions {
  /** A condition before all others. */
  readonly condition?: Sql
  /** The statement has no limit. */
  readonly readsAllRows?: boolean
}

export class RowWriter {
  readonly context: WriteContext
  readonly conditions: ConditionWriter

  constructor(context: WriteContext) {
    this.context = context
    this.conditions = new ConditionWriter(context)
  }

  /** `select … from … where … order by … limit …` */
  select(rows: Rows, alias: string, columns: Sql, parent?: ParentRow): Sql {
    const best = parent === undefined ? this.#bestMatches(rows, alias) : undefined
    if (rows.order?.maxRanked !== undefined && rows.distinct === undefined && best === undefined)
      return this.#selectRanked(rows, alias, columns, parent)
    const ranking = rows.order?.rank && this.conditions.rank(rows.order.rank, alias, best)
    if (rows.distinct !== undefined) return this.#selectDistinct(rows, alias, columns, ranking)
    const source = this.#fromClause(rows, alias, ranking, parent)
    return sql`select ${columns} from ${source}${this.#orderAndLimit(rows, alias, ranking)}`
  }

  /** Writes ` order by …`, including derived columns. */
  order(
    terms: readonly OrderTerm[],
    alias: string,
    ranking?: Pick<Ranking, 'by'>,
  ): Sql | undefined {
    return writeOrder(terms, alias, ranking, (of, column) => this.conditions.value(of, column))
  }

  /** Writes ` where …`, or nothing without conditions. */
  where(rows: FilteredRows, alias: string, options: FilterOptions = {}): Sql | undefined {
    const filter = this.filter(rows, alias, options)
    return filter && sql` where ${filter}`
  }

  filter(
    { table, where, withDeleted = false }: FilteredRows,
    alias: string,
    { condition, readsAllRows = false }: FilterOptions = {},
  ): Sql | undefined {
    const { conditions } = this
    const written =
      where &&
      (readsAllRows ? conditions.writeForAll(where, alias) : conditions.write(where, alias))
    const filter = definedParts(
      condition,
      written,
      withDeleted ? undefined : notDeleted(table, alias),
    )
    return filter.length === 0 ? undefined : join(filter, ' and ')
  }

  count({ rows, sampleSize }: CountQuery): Sql {
    const alias = this.context.aliasOf(rows)
    if (sampleSize !== undefined) return this.#countSample(rows, alias, sampleSize)
    const { table, distinct, limit } = rows
    const all = { readsAllRows: distinct === undefined }
    const matches = limit === undefined ? undefined : this.#matchesOf(rows, alias)
    const from = sql` from ${matches?.from}${this.context.table(table.name, alias)}${this.where(rows, alias, all)}`
    if (distinct !== undefined)
      return sql`select count(*) from (select distinct ${this.#comparables(distinct, alias)}${from}) as ${name(alias)}`
    return limit === undefined
      ? sql`select count(*)${from}`
      : sql`select count(*) from (select 1${from}${this.#limit(limit)}) as ${name(alias)}`
  }

  /** Counts the matches among the first and the last rows of the table. */
  #countSample(rows: Rows, alias: string, sampleSize: number): Sql {
    const { name: table, key } = rows.table
    const byColumns = (direction: 'asc' | 'desc'): Sql | undefined => {
      const terms = storedColumnsOf(key).map(
        (column) => sql`${name(column.name)} ${raw(direction)}`,
      )
      return terms.length === 0 ? undefined : sql` order by ${join(terms)}`
    }
    const end = (direction: 'asc' | 'desc'): Sql =>
      sql`select * from (select * from ${this.context.tableName(table)}${byColumns(direction)}${this.context.limit(sampleSize)}) as ${name(direction)}`
    const from = sql`(${end('asc')} union all ${end('desc')}) as ${name(alias)}`
    return sql`select count(*) from ${from}${this.where(rows, alias)}`
  }

  /**
   * Writes the related rows of several rows. With a limit, the list of each row is read by its own subquery. A window function
   * would read all related rows even if the limit is three.
   */
  relatedRows({ relation, keys, isPacked, shard, rows = {} }: RelatedRowsQuery): Sql {
    const { table, target, local, foreign, shards } = relation
    const { context, conditions } = this
    const { order = byKey(target) } = rows
    const [outer, inner, alias] = [context.alias(), context.alias(), context.alias()]
    if (shard !== undefined) for (const one of [outer, inner, alias]) context.setShard(one, shard)
    const columns = returnedColumns(target, alias, context)
    const hasRequestedKey = (
      matchColumns: readonly Sql[],
      side: 'local' | 'foreign',
      of: string,
    ): Sql => {
      const sameShard =
        shards && shard !== undefined
          ? sql` and ${ref(of, shards[side])} = ${slot(shard)}`
          : undefined
      const { dialect } = context
      const key = side === 'local' ? local : relation.join === undefined ? foreign : undefined
      const part = key && partitionPartOf(key, dialect)
      return sql`${isListed(matchColumns, local, { slots: keys, isPacked }, dialect, part)}${sameShard}`
    }
    const requestedKey = (matchColumns: readonly Sql[]): Sql =>
      keyAsValue(matchColumns, local, context.dialect)
    if (rows.limit === undefined) {
      const { from, matchColumns } = context.joinTarget(relation, alias)
      const condition = hasRequestedKey(matchColumns, 'foreign', alias)
      const where = this.where({ table: target, where: rows.where }, alias, { condition })
      return sql`select ${requestedKey(matchColumns)}, ${columns} from ${from}${where}${this.order(order.terms, alias)}`
    }
    if (isApart(relation, context.dialect)) {
      const key = keyColumns(alias, relation.foreign)
      return this.#numbered(relation, { ...rows, order }, alias, {
        key: requestedKey(key),
        condition: hasRequestedKey(key, 'foreign', alias),
      })
    }
    // Rank the outer rows first, so that the replaced search condition is the one of the inner rows.
    const ranking = order.rank && conditions.rank(order.rank, alias)
    const selection = { ...rows, table: target, order }
    const parent = { relation, alias: outer }
    const parents = context.table(table.name, outer)
    const localColumns = keyColumns(outer, local)
    const parentRows = sql`select ${requestedKey(localColumns)} as filigree_led, ${columns} from ${parents} cross join `
    const hasRequestedKeys = hasRequestedKey(localColumns, 'local', outer)
    const by = this.order(order.terms, alias, ranking)
    if (context.dialect.can.lateral) {
      const found = this.select(selection, inner, columnsOf(target.columns, inner), parent)
      return sql`${parentRows}lateral (${found}) as ${name(alias)} where ${hasRequestedKeys}${by}`
    }
    // Without `lateral`, the rows are selected by a list of keys.
    const key = join(keyColumns(inner, target.key))
    const isSelected = sql`${ref(alias, target.key)} in (${this.select(selection, inner, key, parent)})`
    const sameShard =
      shards &&
      sql`${ref(alias, shards.foreign)} = ${ref(outer, shards.local)}${context.isInShard(alias, shards.foreign)}`
    const filter = join(
      definedParts(hasRequestedKeys, ranking?.test, sameShard, isSelected),
      ' and ',
    )
    return sql`${parentRows}${context.table(target.name, alias)}${ranking?.fromAfter} where ${filter}${by}`
  }

  /** Limits the rows of each key by their number in the order, because no subquery for each key may read shards. */
  #numbered(
    { target }: SqlRelation,
    rows: RelatedRowsOf & { readonly order: Order },
    alias: string,
    { key, condition }: { readonly key: Sql; readonly condition: Sql },
  ): Sql {
    const { context } = this
    const { order, offset, limit } = rows
    const ranking = order.rank && this.conditions.rank(order.rank, alias)
    const by = this.order(order.terms, alias, ranking)
    const number = sql`row_number() over (partition by ${key}${by}) as filigree_place`
    const from = sql`${ranking?.from}${context.table(target.name, alias)}`
    const filter = this.where({ ...rows, table: target }, alias, { condition })
    const found = sql`select ${name(alias)}.*, ${key} as filigree_led, ${number} from ${from}${filter}`
    const { sum } = context.dialect.statements.limit
    const skipped = offset === undefined ? undefined : wrap(sum, slot(offset))
    const count = typeof limit === 'number' ? wrap(sum, slot(limit)) : raw(String(limit?.fixed))
    const last = skipped === undefined ? count : sql`${skipped} + ${count}`
    const isSkipped = skipped && sql`filigree_place > ${skipped} and `
    return sql`select filigree_led, ${returnedColumns(target, alias, context)} from (${found}) as ${name(alias)} where ${isSkipped}filigree_place <= ${last} order by filigree_place`
  }

  /** The matches of a search that a page needs. `undefined` if the rows are not all matches in the order of the search. */
  #bestMatches(
    { table, where, order, limit, offset, withDeleted = false, distinct }: Rows,
    alias: string,
  ): BestMatches | undefined {
    const { dialect } = this.context
    if (order?.rank === undefined || order.rank !== where || typeof limit !== 'number')
      return undefined
    if (distinct !== undefined || dialect.text.search.readsBest?.(table) !== true) return undefined
    if (!withDeleted && notDeleted(table, alias) !== undefined) return undefined
    const [first, ...others] = order.terms
    if (first?.column !== table.key || first.descending || others.length > 0) return undefined
    return { count: sizeOf({ limit, offset, dialect }), maxRanked: order.maxRanked }
  }

  /** Ranks and sorts at most `maxRanked` of the rows that a search finds. */
  #selectRanked(rows: Rows, alias: string, columns: Sql, parent: ParentRow | undefined): Sql {
    const { rank, maxRanked } = rows.order ?? {}
    if (rank === undefined) throw new TypeError('The order has no search to rank by.')
    const ranking = this.conditions.rankSome(rank, alias)
    const from = this.#tableWithFilter(rows, alias, ranking, parent)
    const found = sql`select ${name(alias)}.*, ${ranking.rank} as filigree_rank from ${from} limit ${raw(String(maxRanked))}`
    const by = { by: sql`${name(alias, 'filigree_rank')}, ` }
    return sql`select ${columns} from (${found}) as ${name(alias)}${this.#orderAndLimit(rows, alias, by)}`
  }

  /** Selects the first of the rows that are equal in some columns. */
  #selectDistinct(rows: Rows, alias: string, columns: Sql, ranking: Ranking | undefined): Sql {
    const by = this.order(rows.order?.terms ?? [], alias, ranking)
    const partition = this.#comparables(rows.distinct ?? [], alias)
    const numbers = sql`row_number() over (partition by ${partition}${by}) as filigree_place, row_number() over (${by}) as filigree_order`
    const found = sql`select ${name(alias)}.*, ${numbers} from ${this.#tableWithFilter(rows, alias, ranking)}`
    const range = this.#orderAndLimit({ ...rows, order: undefined }, alias)
    return sql`select ${columns} from (${found}) as ${name(alias)} where filigree_place = 1 order by filigree_order${range}`
  }

  #fromClause(
    rows: Rows,
    alias: string,
    ranking: Ranking | undefined,
    parent: ParentRow | undefined,
  ): Sql {
    const { table, where, order, limit, offset } = rows
    const { dialect } = this.context
    if (rows.reading !== undefined) return this.#fromCounted(rows, alias)
    const pieces =
      parent === undefined && order !== undefined && typeof limit === 'number'
        ? splitAtNulls(table, order, where, dialect)
        : undefined
    if (pieces === undefined) return this.#tableWithFilter(rows, alias, ranking, parent)
    const rowsWhere = (condition: Condition): Sql =>
      this.#tableWithFilter({ ...rows, where: condition }, alias, ranking)
    return writeNullPieces(pieces, {
      alias,
      rows: rowsWhere,
      order: (terms) => this.order(terms, alias),
      limit: limit as number,
      offset,
      dialect,
    })
  }

  /** Writes a list that depends on the number of its matches, for `from`. */
  #fromCounted(rows: Rows, alias: string): Sql {
    const { table, order, limit, offset } = rows
    if (order === undefined || typeof limit !== 'number')
      throw new TypeError(
        'A list that depends on the number of its matches has an order and a limit.',
      )
    const { context } = this
    if (context.dialect.statements.countsMatches === 'after a scan')
      return this.#fromScanned(rows, alias, order, limit)
    const [finding, key] = [context.aliasOf(rows), table.key]
    // A writer of its own, so that the other lists do not use the replaced condition of the search.
    const finder = new RowWriter(context)
    const matches = finder.#matchesOf(rows, finding)
    const found = sql`${matches?.from}${context.table(table.name, finding)}${finder.where(rows, finding)}`
    const sorted = (keys: Sql): Sql =>
      sql`${context.table(table.name, alias)} where ${ref(alias, key)} in (${keys})${this.order(order.terms, alias)}`
    return writeByCount({
      ...{ alias, table, limit, offset, dialect: context.dialect },
      keys: sql`select ${join(keyColumns(finding, key))} from ${found}`,
      sorted,
      near: (maxRows) => this.#testFirst(rows, alias, order, { maxRows }),
      scanned: this.#scanInOrder(rows, alias, order, limit),
    })
  }

  /** As `#fromCounted`, for engines that scan before they count. */
  #fromScanned(rows: Rows, alias: string, order: Order, limit: number): Sql {
    const { table, offset } = rows
    const { dialect } = this.context
    const matches = (condition?: Sql): Sql =>
      sql`${this.context.table(table.name, alias)}${this.where(rows, alias, condition === undefined ? {} : { condition })}`
    const by = this.order(order.terms, alias)
    return writeByScan({
      ...{ alias, limit, offset, dialect, matches },
      by,
      isScanned: rows.reading === 'scanned',
      isSearch: rows.where !== undefined && searchIn(rows.where) !== undefined,
      near: (maxRows, oneTime) => this.#testFirst(rows, alias, order, { maxRows, oneTime }),
    })
  }

  /** Tests the first rows of the order one by one. */
  #testFirst(
    rows: Rows,
    alias: string,
    order: Order,
    { maxRows, oneTime }: { readonly maxRows: Sql; readonly oneTime?: Sql | undefined },
  ): Sql {
    const { table, withDeleted } = rows
    const { range, found, rest } = scanConditionsOf(rows)
    const pieces = splitAtNulls(table, order, range, this.context.dialect)
    const { condition, terms } = pieces?.[0] ?? { condition: range, terms: order.terms }
    const filter = oneTime === undefined ? {} : { condition: oneTime }
    const where = this.where({ table, where: condition, withDeleted }, alias, filter)
    const first = sql`select * from ${this.context.table(table.name, alias)}${where}${this.order(terms, alias)} limit ${maxRows}`
    const tests = definedParts(
      found && this.conditions.writeForOne(found, alias),
      rest && this.conditions.writeForOne(rest, alias),
    )
    return sql`(${first}) as ${name(alias)} where ${join(tests, ' and ')}`
  }

  /** Writes the rows in the order of an index, each tested by itself. */
  #scanInOrder(rows: Rows, alias: string, order: Order, limit: number): Sql {
    const { table, offset, withDeleted = false } = rows
    const { dialect } = this.context
    const { range, found, rest } = scanConditionsOf(rows)
    const undeleted = withDeleted ? undefined : notDeleted(table, alias)
    const tests = definedParts(
      found && this.#isAmong(found, table, alias),
      // An index cannot find rows by a truth value, so the planner uses the index of the order.
      rest && sql`(${this.conditions.write(rest, alias)}) is true`,
      undeleted && sql`(${undeleted}) is true`,
    )
    const condition = tests.length === 0 ? {} : { condition: join(tests, ' and ') }
    const inOrder = (where: Condition | undefined): Sql => {
      const filter = this.where({ table, where, withDeleted: true }, alias, condition)
      return sql`${this.context.table(table.name, alias)}${filter}`
    }
    const pieces = splitAtNulls(table, order, range, dialect)
    const byTerms = (terms: readonly OrderTerm[]): Sql | undefined => this.order(terms, alias)
    const parts = { alias, rows: inOrder, order: byTerms, limit, offset, dialect }
    const from = pieces === undefined ? inOrder(range) : writeNullPieces(pieces, parts)
    return sql`${from}${byTerms(order.terms)}`
  }

  /** Tests a row's key in the list of the keys of all rows that match, which is made once. */
  #isAmong(condition: Condition, table: SqlTable, alias: string): Sql {
    const other = this.context.alias()
    const keys =
      condition.kind === 'search'
        ? this.conditions.searchKeys(condition, other)
        : sql`select ${join(keyColumns(other, table.key))} from ${this.context.table(table.name, other)} where ${this.conditions.write(condition, other)}`
    // The sign keeps the planner from reading all rows of the list.
    return sql`${rowOf(keyColumns(alias, table.key).map((column) => sql`+${column}`))} in (${keys})`
  }

  /** The SQL that reads the matches of a search one by one, for rows with a limit and without an order. */
  #matchesOf({ where }: Rows, alias: string): RankedRows | undefined {
    const search = where && searchIn(where)
    return search && this.conditions.rankSome(search, alias)
  }

  /** Writes the table with its alias and conditions, for `from`. */
  #tableWithFilter(
    rows: Rows,
    alias: string,
    ranking: Pick<Ranking, 'from'> | undefined,
    parent?: ParentRow,
  ): Sql {
    if (parent === undefined) {
      const from = this.context.table(rows.table.name, alias)
      return sql`${ranking?.from}${from}${this.where(rows, alias)}`
    }
    const { from, matchColumns } = this.context.joinTarget(parent.relation, alias)
    const condition = this.context.isRelated(parent.relation, matchColumns, alias, parent.alias)
    return sql`${ranking?.from}${from}${this.where(rows, alias, { condition })}`
  }

  #comparables(columns: readonly Column[], alias: string): Sql {
    return join(columns.map((column) => this.context.comparable(alias, column)))
  }

  #orderAndLimit(
    { order, limit, offset }: Rows,
    alias: string,
    ranking?: Pick<Ranking, 'by'>,
  ): Sql {
    const by = order && this.order(order.terms, alias, ranking)
    const limitSql =
      limit !== undefined
        ? this.#limit(limit)
        : offset === undefined
          ? undefined
          : raw(this.context.dialect.statements.limit.none)
    return sql`${by}${limitSql}${offset === undefined ? undefined : sql` offset ${slot(offset)}`}`
  }

  #limit(limit: number | { readonly fixed: number }): Sql {
    return typeof limit === 'number' ? this.context.limit(limit) : raw(` limit ${limit.fixed}`)
  }
}

export function columnsOf(columns: readonly Column[], alias: string): Sql {
  return join(columns.map((column) => ref(alias, column)))
}

/** Writes all columns of a table as statements return them. */
export function returnedColumns({ columns }: SqlTable, alias: string, context: WriteContext): Sql {
  return join(columns.map((column) => context.returned(alias, column)))
}

/** Writes columns as they are stored, and each key of several columns as one value. */
export function storedValues(
  columns: readonly Column[],
  alias: string,
  { dialect }: WriteContext,
): Sql {
  return join(columns.map((column) => keyAsValue(keyColumns(alias, column), column, dialect)))
}
