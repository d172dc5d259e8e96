/** Writes which rows are meant: with their conditions, in their order, so many of them. */
import type { Ranking } from '../engines/contract/dialect.js'
import { join, name, raw, slot, sql, within, type Sql } from '../engines/contract/sql-text.js'
import type { Column } from '../engines/contract/table.js'
import type { Condition } from './condition.js'
import { ConditionWriter, present } from './conditions.js'
import { toNullPieces, writePieces } from './null-pieces.js'
import { byKey, writeOrder, type OrderTerm } from './order.js'
import type { SqlTable, Tie } from './table.js'
import type { BehindQuestion, CountQuestion, Rows } from './tree.js'
import { living, ref, type Writing } from './writing.js'

/** Rows that belong to the row of another alias. */
export interface Tied {
  readonly tie: Tie
  readonly outer: string
}

type Tested = Pick<Rows, 'table' | 'where' | 'withDeleted'>

interface TestOptions {
  /** A test before all others. */
  readonly isTest?: Sql
  /** There is no limit. */
  readonly looksAtAll?: boolean
}

export class RowsWriter {
  readonly writing: Writing
  readonly conditions: ConditionWriter

  constructor(writing: Writing) {
    this.writing = writing
    this.conditions = new ConditionWriter(writing)
  }

  /** `select … from … where … order by … limit …` */
  select(rows: Rows, alias: string, columns: Sql, tied?: Tied): Sql {
    if (rows.order?.ranked !== undefined && rows.distinct === undefined)
      return this.#selectRanked(rows, alias, columns, tied)
    const ranking = rows.order?.rank && this.conditions.rank(rows.order.rank, alias)
    if (rows.distinct !== undefined) return this.#selectDistinct(rows, alias, columns, ranking)
    const source = this.#source(rows, alias, ranking, tied)
    return sql`select ${columns} from ${source}${this.#range(rows, alias, ranking)}`
  }

  /** ` order by …` of a table's rows. */
  order(
    terms: readonly OrderTerm[],
    alias: string,
    ranking?: Pick<Ranking, 'by'>,
  ): Sql | undefined {
    return writeOrder(terms, alias, ranking, (of, column) => this.conditions.value(of, column))
  }

  /** ` where …`; nothing where every row counts. */
  where(rows: Tested, alias: string, options: TestOptions = {}): Sql | undefined {
    const tests = this.tests(rows, alias, options)
    return tests && sql` where ${tests}`
  }

  tests(
    { table, where, withDeleted = false }: Tested,
    alias: string,
    { isTest, looksAtAll = false }: TestOptions,
  ): Sql | undefined {
    const { conditions } = this
    const written =
      where && (looksAtAll ? conditions.writeForAll(where, alias) : conditions.write(where, alias))
    const tests = present(isTest, written, withDeleted ? undefined : living(table, alias))
    return tests.length === 0 ? undefined : join(tests, ' and ')
  }

  count({ rows, ends }: CountQuestion): Sql {
    const alias = this.writing.alias()
    if (ends !== undefined) return this.#countEnds(rows, alias, ends)
    const { table, distinct, limit } = rows
    const all = { looksAtAll: distinct === undefined }
    const from = sql` from ${this.writing.table(table.name, alias)}${this.where(rows, alias, all)}`
    if (distinct !== undefined)
      return sql`select count(*) from (select distinct ${columnsOf(distinct, alias)}${from}) as ${name(alias)}`
    return limit === undefined
      ? sql`select count(*)${from}`
      : sql`select count(*) from (select 1${from}${this.#limit(limit)}) as ${name(alias)}`
  }

  /** Counts matches among the first and the last rows. */
  #countEnds(rows: Rows, alias: string, most: number): Sql {
    const { name: table, key } = rows.table
    const end = (direction: 'asc' | 'desc'): Sql =>
      sql`select * from (select * from ${this.writing.named(table)} order by ${name(key.name)} ${raw(direction)}${this.writing.limit(most)}) as ${name(direction)}`
    const from = sql`(${end('asc')} union all ${end('desc')}) as ${name(alias)}`
    return sql`select count(*) from ${from}${this.where(rows, alias)}`
  }

  /**
   * Each row's own list is read by itself, inside the one statement: a window over the rows of all of them would read every
   * row that any of them has, where their lists ask for three.
   */
  behind({ tie, keys, isPacked, shard, rows = {} }: BehindQuestion): Sql {
    const { table, target, local, shards } = tie
    const { writing, conditions } = this
    const { order = byKey(target) } = rows
    const [outer, inner, alias] = [writing.alias(), writing.alias(), writing.alias()]
    const columns = answeredOf(target, alias, writing)
    const areAsked = (led: Sql, side: 'local' | 'foreign', of: string): Sql => {
      const words = isPacked ? writing.dialect.listTest : (['in (', ')'] as const)
      const same =
        shards && shard !== undefined
          ? sql` and ${ref(of, shards[side])} = ${slot(shard)}`
          : undefined
      return sql`${led} ${within(words, join(keys.map(slot)))}${same}`
    }
    if (rows.limit === undefined) {
      const { from, led } = writing.reach(tie, alias)
      const isTest = areAsked(led, 'foreign', alias)
      const where = this.where({ table: target, where: rows.where }, alias, { isTest })
      return sql`select ${led}, ${columns} from ${from}${where}${this.order(order.terms, alias)}`
    }
    // The outer one first: what stands for the test is then the inner one's.
    const shown = order.rank && conditions.rank(order.rank, alias)
    const own = { ...rows, table: target, order }
    const tied = { tie, outer }
    const parents = writing.table(table.name, outer)
    const chosen = sql`select ${ref(outer, local)} as filigree_led, ${columns} from ${parents} cross join `
    const isAsked = areAsked(ref(outer, local), 'local', outer)
    const by = this.order(order.terms, alias, shown)
    if (writing.dialect.hasLateral) {
      const found = this.select(own, inner, columnsOf(target.columns, inner), tied)
      return sql`${chosen}lateral (${found}) as ${name(alias)} where ${isAsked}${by}`
    }
    // Without `lateral` the rows of a list of keys are found at once.
    const key = ref(inner, target.key)
    const among = sql`${ref(alias, target.key)} in (${this.select(own, inner, key, tied)})`
    const same = shards && sql`${ref(alias, shards.foreign)} = ${ref(outer, shards.local)}`
    const tests = join(present(isAsked, shown?.test, same, among), ' and ')
    return sql`${chosen}${writing.table(target.name, alias)}${shown?.behind} where ${tests}${by}`
  }

  /** Of the rows that a search finds no more are ranked, and sorted, than may be. */
  #selectRanked(rows: Rows, alias: string, columns: Sql, tied: Tied | undefined): Sql {
    const { rank, ranked } = rows.order ?? {}
    if (rank === undefined) throw new TypeError('Nothing is ranked.')
    const some = this.conditions.some(rank, alias)
    const from = this.#plain(rows, alias, some, tied)
    const found = sql`select ${name(alias)}.*, ${some.rank} as filigree_rank from ${from} limit ${raw(String(ranked))}`
    const by = { by: sql`${name(alias, 'filigree_rank')}, ` }
    return sql`select ${columns} from (${found}) as ${name(alias)}${this.#range(rows, alias, by)}`
  }

  /** Of rows that are equal in some columns, the first one in the order. */
  #selectDistinct(rows: Rows, alias: string, columns: Sql, ranking: Ranking | undefined): Sql {
    const by = this.order(rows.order?.terms ?? [], alias, ranking)
    const alike = columnsOf(rows.distinct ?? [], alias)
    const places = sql`row_number() over (partition by ${alike}${by}) as filigree_place, row_number() over (${by}) as filigree_order`
    const found = sql`select ${name(alias)}.*, ${places} from ${this.#plain(rows, alias, ranking)}`
    const range = this.#range({ ...rows, order: undefined }, alias)
    return sql`select ${columns} from (${found}) as ${name(alias)} where filigree_place = 1 order by filigree_order${range}`
  }

  #source(rows: Rows, alias: string, ranking: Ranking | undefined, tied: Tied | undefined): Sql {
    const { table, where, order, limit, offset } = rows
    const { dialect } = this.writing
    const pieces =
      tied === undefined && order !== undefined && typeof limit === 'number'
        ? toNullPieces(table, order, where, dialect)
        : undefined
    if (pieces === undefined) return this.#plain(rows, alias, ranking, tied)
    const own = (condition: Condition): Sql =>
      this.#plain({ ...rows, where: condition }, alias, ranking)
    return writePieces(pieces, {
      alias,
      rows: own,
      order: (terms) => this.order(terms, alias),
      limit: limit as number,
      offset,
      isLocal: dialect.isLocal,
    })
  }

  /** The table with its conditions. */
  #plain(rows: Rows, alias: string, ranking: Pick<Ranking, 'from'> | undefined, tied?: Tied): Sql {
    if (tied === undefined) {
      const from = this.writing.table(rows.table.name, alias)
      return sql`${ranking?.from}${from}${this.where(rows, alias)}`
    }
    const { from, led } = this.writing.reach(tied.tie, alias)
    const isTest = this.writing.isTied(tied.tie, led, alias, tied.outer)
    return sql`${ranking?.from}${from}${this.where(rows, alias, { isTest })}`
  }

  #range({ order, limit, offset }: Rows, alias: string, ranking?: Pick<Ranking, 'by'>): Sql {
    const by = order && this.order(order.terms, alias, ranking)
    const most =
      limit !== undefined
        ? this.#limit(limit)
        : offset === undefined
          ? undefined
          : raw(this.writing.dialect.limit.none)
    return sql`${by}${most}${offset === undefined ? undefined : sql` offset ${slot(offset)}`}`
  }

  #limit(limit: number | { readonly fixed: number }): Sql {
    return typeof limit === 'number' ? this.writing.limit(limit) : raw(` limit ${limit.fixed}`)
  }
}

export function columnsOf(columns: readonly Column[], alias: string): Sql {
  return join(columns.map((column) => ref(alias, column)))
}

/** Its columns as records have them. */
export function answeredOf({ columns }: SqlTable, alias: string, writing: Writing): Sql {
  return join(columns.map((column) => writing.answered(alias, column)))
}
