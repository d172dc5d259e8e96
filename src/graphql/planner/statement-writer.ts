/**
 * Writes the one statement of a root field: an object a row, rows of relations by subqueries, every list limited before
 * anything is gathered.
 */
import { Slot, type Plan } from '../../records/statements/builder.js'
import { isByKey } from '../../records/filters/by-key.js'
import type { Condition } from '../../records/filters/condition.js'
import { FilterWriter } from '../../records/filters/filter-sql.js'
import { toNullPieces, writePieces } from '../../records/filters/null-pieces.js'
import { writeOrder, type Order } from '../../records/filters/order.js'
import type { Fragment, JsonSql } from '../../engines/contract/json-sql.js'
import type { Ranking } from '../../engines/contract/search-sql.js'
import { sameShard } from '../../records/statements/shard.js'
import type { RecordsContext } from '../../records/statements/source.js'
import type { Column } from '../../engines/contract/table.js'
import type { Relation, Table } from '../../records/model/table.js'
import type { ListQuestion } from '../records/question.js'
import type { ListEntry, ObjectSelection, OwnerEntry } from './selection.js'

/** What a run asks of the relations, by their places. */
export interface Answers {
  readonly lists: readonly (ListQuestion | undefined)[]
  /** What the caller may see of an owner's table. */
  readonly rows: readonly (Condition | undefined)[]
}

/** Rows of a table: which, in what order, how many. */
export interface RowsQuestion {
  readonly condition: Condition | undefined
  readonly order: Order | undefined
  readonly limit: number | undefined
  /** `limit` is the number itself, and no place among the values. */
  readonly hasFixedLimit?: boolean
  readonly offset: number | undefined
}

export class StatementWriter {
  readonly json: JsonSql
  readonly filters: FilterWriter
  readonly #context: RecordsContext
  readonly #answers: Answers
  #aliases = 0
  #isByKey = false

  constructor(context: RecordsContext, answers: Answers) {
    const { sql } = context.builder
    this.#context = context
    this.#answers = answers
    this.filters = new FilterWriter(sql, context.dialect)
    this.json = context.dialect.json(sql)
  }

  /** @param table the root's */
  compile(fragment: Fragment, { name: table }: Table): Plan {
    const facts = this.#isByKey ? ({ together: 'calls' } as const) : ({ together: 'same' } as const)
    return this.#context.builder.compile(fragment, { table, ...facts })
  }

  alias(): string {
    return `t${this.#aliases++}`
  }

  /** `select [{…}, {…}]`, in one column or more. */
  list(object: ObjectSelection, question: RowsQuestion): Fragment {
    const { sql } = this.filters
    const alias = this.alias()
    const joins: Fragment[] = []
    const written = this.object(object, alias, joins)
    const { table } = object.model
    const rows = this.rows(table, neededColumns(object), question, alias)
    return sql`select ${this.json.all(written)} from (${rows}) as ${sql.id(alias)}${sql.join(joins, sql``)}`
  }

  /** `select {…}` of the one row that the condition finds. */
  one(object: ObjectSelection, condition: Condition): Fragment {
    const { sql } = this.filters
    const alias = this.alias()
    const { table } = object.model
    const joins: Fragment[] = []
    const written = this.object(object, alias, joins)
    // With lists behind it, it may read many.
    const hasLists = this.#answers.lists.some((list) => list !== undefined)
    this.#isByKey = !hasLists && isByKey(condition, table)
    return sql`select ${written} from ${this.#table(table, alias)}${sql.join(joins, sql``)}${this.#tests('where', table, condition, alias)}`
  }

  count(table: Table, condition: Condition | undefined): Fragment {
    const { sql } = this.filters
    const alias = this.alias()
    return sql`select count(*) from ${this.#table(table, alias)}${this.#tests('where', table, condition, alias, true)}`
  }

  /**
   * `{"id": …, "category": …}` of the row that the alias stands for.
   *
   * @param joins gets what has to follow that row's table
   */
  object({ entries }: ObjectSelection, alias: string, joins: Fragment[]): Fragment {
    return this.json.object(
      entries.map((entry): [string, Fragment] => {
        switch (entry.kind) {
          case 'typename':
            return [entry.key, this.json.text(entry.name)]
          case 'column': {
            const column = this.filters.ref(alias, entry.field.column)
            return [entry.key, this.json.value(entry.field, column)]
          }
          case 'owner':
            return [entry.key, this.#owner(entry, alias, joins)]
          case 'list':
            return [entry.key, this.#related(entry, alias)]
        }
      }),
    )
  }

  /** The rows of a table, with some of its columns, under an alias. */
  rows(
    table: Table,
    columns: ReadonlySet<Column>,
    question: RowsQuestion,
    alias: string,
  ): Fragment {
    const { sql } = this.filters
    const ranking = this.#ranking(question, alias)
    const rowsOf = (condition: Condition | undefined): Fragment =>
      sql`${ranking?.from ?? sql``}${this.#table(table, alias)}${this.#tests('where', table, condition, alias)}`
    const from = this.#pieces(table, question, alias, rowsOf) ?? rowsOf(question.condition)
    return sql`select ${this.#columns(table, columns, alias)} from ${from}${this.#range(question, alias, ranking)}`
  }

  #ranking({ order }: RowsQuestion, alias: string): Ranking | undefined {
    return order?.rank && this.filters.rank(order.rank, alias)
  }

  #pieces(
    table: Table,
    { condition, order, limit, hasFixedLimit, offset }: RowsQuestion,
    alias: string,
    rows: (condition: Condition | undefined) => Fragment,
  ): Fragment | undefined {
    if (order === undefined || limit === undefined || hasFixedLimit === true) return undefined
    const { dialect } = this.#context
    const codec = this.#context.codecOf(table)
    const pieces = toNullPieces({ table, codec }, order, condition, dialect)
    const { isLocal } = dialect
    const writer = this.filters
    return pieces && writePieces(pieces, { alias, writer, rows, limit, offset, isLocal })
  }

  /** The one row that another belongs to, or null. */
  #owner({ relation, object, index }: OwnerEntry, outer: string, joins: Fragment[]): Fragment {
    const { sql } = this.filters
    const { local, foreign, target } = relation.relation
    const alias = this.alias()
    const table = this.#table(target, alias)
    const key = this.filters.ref(alias, foreign)
    const tests = this.#tests('and', target, this.#answers.rows[index], alias)
    const same = sameShard(relation.relation, sql, outer, alias)
    const isMine = sql`${key} = ${this.filters.ref(outer, local)}${same}${tests}`
    const { owners } = this.#context.dialect
    if (owners.join === 'left' && joins.length < owners.most) {
      joins.push(sql` left join ${table} on ${isMine}`)
      return sql`case when ${key} is not null then ${this.object(object, alias, joins)} end`
    }
    const inner: Fragment[] = []
    const written = this.object(object, alias, inner)
    const from = sql`from ${table}${sql.join(inner, sql``)} where ${isMine}`
    if (joins.length >= owners.most)
      return this.json.optional(this.json.nested(sql`select ${written} ${from}`))
    // The limit keeps it a row by row matter: another kind of join might lose the order of the rows.
    const owner = `${alias}o`
    joins.push(
      sql` left join lateral (select ${written} as filigree_owner ${from} limit 1) as ${sql.id(owner)} on true`,
    )
    return this.json.optional(sql.ref(`${owner}.filigree_owner`))
  }

  #related({ relation, object, index }: ListEntry, outer: string): Fragment {
    const { sql } = this.filters
    const { target } = relation.relation
    const question = this.#answers.lists[index] as ListQuestion
    const alias = this.alias()
    const joins: Fragment[] = []
    const written = this.object(object, alias, joins)
    const from = this.#behind(relation.relation, alias, outer)
    const columns = this.#columns(target, neededColumns(object), alias)
    const ranking = this.#ranking(question, alias)
    const tests = this.#tests('and', target, question.condition, alias)
    const rows = sql`select ${columns} from ${ranking?.from ?? sql``}${from}${tests}${this.#range(question, alias, ranking)}`
    return this.json.nested(
      sql`select ${this.json.aggregate(written)} from (${rows}) as ${sql.id(alias)}${sql.join(joins, sql``)}`,
    )
  }

  /** The table behind a relation, tied to the outer row. */
  #behind(relation: Relation, alias: string, outer: string): Fragment {
    const { sql } = this.filters
    const { join, foreign, local, target } = relation
    const table = this.#table(target, alias)
    const mine = this.filters.ref(outer, local)
    if (join === undefined)
      return sql`${table} where ${this.filters.ref(alias, foreign)} = ${mine}${sameShard(relation, sql, outer, alias)}`
    const pair = `${alias}j`
    const on = sql`${this.filters.ref(alias, foreign)} = ${sql.ref(`${pair}.${join.to}`)}`
    return sql`${sql.table(join.name)} as ${sql.id(pair)} inner join ${table} on ${on} where ${sql.ref(`${pair}.${join.from}`)} = ${mine}`
  }

  #table(table: Table, alias: string): Fragment {
    const { sql } = this.filters
    return sql`${sql.table(table.name)} as ${sql.id(alias)}`
  }

  #columns(table: Table, columns: ReadonlySet<Column>, alias: string): Fragment {
    const chosen = columns.size === 0 ? [table.key] : [...columns]
    return this.filters.sql.join(chosen.map((column) => this.filters.ref(alias, column)))
  }

  /** Begins with `where` or `and`; nothing where every row counts. */
  #tests(
    word: 'where' | 'and',
    { deletedAt }: Table,
    condition: Condition | undefined,
    alias: string,
    looksAtAll = false,
  ): Fragment {
    const { filters } = this
    const { sql } = filters
    const written =
      condition &&
      (looksAtAll ? filters.writeForAll(condition, alias) : filters.write(condition, alias))
    const tests = [
      ...(written === undefined ? [] : [written]),
      ...(deletedAt === undefined ? [] : [sql`${this.filters.ref(alias, deletedAt)} is null`]),
    ]
    return tests.length === 0 ? sql`` : sql` ${sql.raw(word)} ${sql.join(tests, sql` and `)}`
  }

  #range(
    { order, limit, hasFixedLimit, offset }: RowsQuestion,
    alias: string,
    ranking: Ranking | undefined,
  ): Fragment {
    const { sql } = this.filters
    const by =
      order === undefined
        ? sql``
        : sql` order by ${writeOrder(order.terms, this.filters, alias, ranking)}`
    let most = sql``
    if (hasFixedLimit === true) most = sql.raw(` limit ${String(limit)}`)
    else if (limit !== undefined) most = this.filters.limit(limit)
    return sql`${by}${most}${offset === undefined ? sql`` : sql` offset ${new Slot(offset)}`}`
  }
}

/** The columns that an object is written from, each once. */
export function neededColumns({ entries }: ObjectSelection): Set<Column> {
  const columns = new Set<Column>()
  for (const entry of entries) {
    if (entry.kind === 'typename') continue
    if (entry.kind === 'column') columns.add(entry.field.column)
    else {
      const { local, shards } = entry.relation.relation
      columns.add(local)
      if (shards !== undefined) columns.add(shards.local)
    }
  }
  return columns
}
