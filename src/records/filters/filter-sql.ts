/** Writes a parsed filter as SQL. It contains only names of the table and placeholders. */
import { Slot, type RawBuilder, type Sql } from '../statements/builder.js'
import type { Dialect } from '../../engines/contract/engine.js'
import type { Ranking, SearchParts } from '../../engines/contract/search-sql.js'
import type { Condition } from './condition.js'
import { writePlace } from './json-place.js'
import { operatorOf } from './operators.js'
import type { SearchCondition } from './search.js'
import type { Column } from '../../engines/contract/table.js'
import type { Relation } from '../model/table.js'
import { sameShard } from '../statements/shard.js'

type Fragment = RawBuilder<unknown>
type Compared = Extract<Condition, { kind: 'compare' }>
type Placed = Extract<Condition, { kind: 'compare' | 'null' }>

/** Writes conditions on a table under an alias, and the number of rows that are wanted. */
export class FilterWriter {
  readonly #sql: Sql
  readonly #dialect: Dialect
  #aliases = 0
  #looksAtAll = false
  /** Searches that rows are ordered by, with the SQL that replaces their conditions. */
  readonly #ranked = new Map<SearchCondition, Fragment>()

  constructor(sql: Sql, dialect: Dialect) {
    this.#sql = sql
    this.#dialect = dialect
  }

  /**
   * @param alias the alias of the table that the condition was parsed for
   * @param isBelow whether the alias depends on the row of another table
   */
  write(condition: Condition, alias: string, isBelow = false): Fragment {
    const { sql } = this
    switch (condition.kind) {
      case 'all':
      case 'any':
        return this.#writeGroup(condition, alias, isBelow)
      case 'not':
        // An anti join; `exists` is never null.
        if (condition.part.kind === 'related')
          return sql`not ${this.#writeThrough(condition.part, alias, isBelow)}`
        if (condition.part.kind === 'compare') {
          const opposite = toOpposite(condition.part)
          if (opposite !== undefined) return this.#writeCompare(opposite, alias)
        }
        // Not `not (…)`: that is null for comparisons with null, so neither the condition nor its opposite would match.
        return sql`(${this.write(condition.part, alias, isBelow)}) is not true`
      case 'null':
        return condition.isNull
          ? sql`${this.#place(condition, alias)} is null`
          : sql`${this.#place(condition, alias)} is not null`
      case 'list':
        return this.#writeList(condition, alias)
      case 'compare':
        return this.#writeCompare(condition, alias)
      case 'related':
        return this.#writeThrough(condition, alias, isBelow)
      case 'search':
        return (
          this.#ranked.get(condition) ?? this.#dialect.search.test(this.#searched(condition, alias))
        )
    }
  }

  /** Orders rows by how well they match a search. Call it before the search's condition is written. */
  rank(condition: SearchCondition, alias: string): Ranking {
    const ranking = this.#dialect.search.rank(this.#searched(condition, alias))
    this.#ranked.set(condition, ranking.test)
    return ranking
  }

  #searched({ table, search, slot }: SearchCondition, alias: string): SearchParts {
    return { sql: this.sql, table, search, alias, value: this.sql.val(new Slot(slot)) }
  }

  /**
   * The same for a statement that reads every row: related rows are matched by a list of keys that is computed once,
   * where the engine would otherwise run a subquery for each row.
   */
  writeForAll(condition: Condition, alias: string): Fragment {
    const before = this.#looksAtAll
    this.#looksAtAll = this.#dialect.listsKeys
    const written = this.write(condition, alias)
    this.#looksAtAll = before
    return written
  }

  #writeThrough(
    { relation, part }: Extract<Condition, { kind: 'related' }>,
    alias: string,
    isBelow: boolean,
  ): Fragment {
    if (relation.kind === 'belongsTo') return this.#writeRelated(relation, part, alias)
    // Whether any related row exists is one look into the index. Keys are never null: neither form can be null.
    const isAny = part.kind === 'all' && part.parts.length === 0
    return isBelow || (this.#looksAtAll && !isAny)
      ? this.#writeAmong(relation, part, alias)
      : this.#writeRelated(relation, part, alias)
  }

  get sql(): Sql {
    return this.#sql
  }

  /** ` limit …`, with the number in a slot. */
  limit(slot: number): Fragment {
    const sql = this.#sql
    return sql` limit ${new Slot(slot)}${sql.raw(this.#dialect.limit.behind)}`
  }

  ref(alias: string, column: Column): Fragment {
    return this.#sql.ref(`${alias}.${column.name}`)
  }

  #writeGroup(
    { kind, parts }: { kind: 'all' | 'any'; parts: readonly Condition[] },
    alias: string,
    isBelow: boolean,
  ) {
    const { sql } = this
    if (parts.length === 0) return kind === 'all' ? sql`1 = 1` : sql`1 = 0`
    const written = parts.map((part) => this.write(part, alias, isBelow))
    return sql`(${sql.join(written, kind === 'all' ? sql` and ` : sql` or `)})`
  }

  #writeCompare(
    { codec, operator, slot, at }: Extract<Condition, { kind: 'compare' }>,
    alias: string,
  ): Fragment {
    const { sql } = this
    const column = this.#place({ codec, at }, alias)
    const value = sql.val(new Slot(slot))
    const write = operatorOf(operator).sql
    if (write === undefined)
      throw new TypeError(`${operator} does not compare with a single value.`)
    return write({
      sql,
      dialect: this.#dialect,
      column,
      isNullable: codec.column.nullable || at !== undefined,
      value,
    })
  }

  #place({ codec, at }: Pick<Placed, 'codec' | 'at'>, alias: string): Fragment {
    const column = this.ref(alias, codec.column)
    if (at === undefined) return column
    return writePlace(at, column, { sql: this.sql, dialect: this.#dialect })
  }

  #writeList(
    { codec, slots, packed, orNull }: Extract<Condition, { kind: 'list' }>,
    alias: string,
  ): Fragment {
    const { sql } = this
    const column = this.ref(alias, codec.column)
    const [before, after] = packed ? this.#dialect.listTest : (['in (', ')'] as const)
    const values = sql.join(slots.map((slot) => sql.val(new Slot(slot))))
    const test = sql`${column} ${sql.raw(before)}${values}${sql.raw(after)}`
    return orNull ? sql`(${test} or ${column} is null)` : test
  }

  /** A related row exists that matches the condition: a subquery for each row of the alias. */
  #writeRelated(relation: Relation, part: Condition, alias: string): Fragment {
    const { sql } = this
    const other = this.#newAlias()
    const inner = this.write(part, other, true)
    const { tables, theirs } = this.#reach(relation, other)
    const living = this.#living(relation, other)
    const same = sameShard(relation, sql, alias, other)
    return sql`exists (select 1 from ${tables} where ${theirs} = ${this.ref(alias, relation.local)}${same}${living} and ${inner})`
  }

  /**
   * The same by a list of keys that does not depend on the alias's row, so that the database computes it once.
   * Otherwise nested lists would be read once for every path to them: a few names in a client's filter would cost
   * minutes.
   */
  #writeAmong(relation: Relation, part: Condition, alias: string): Fragment {
    const { sql } = this
    const other = this.#newAlias()
    const inner = this.write(part, other)
    const { tables, theirs } = this.#reach(relation, other)
    const living = this.#living(relation, other)
    const { shards } = relation
    const own = this.ref(alias, relation.local)
    const [mine, found] =
      shards === undefined
        ? [own, theirs]
        : [
            sql`(${own}, ${this.ref(alias, shards.local)})`,
            sql`${theirs}, ${this.ref(other, shards.foreign)}`,
          ]
    return sql`${mine} in (select ${found} from ${tables} where ${theirs} is not null and ${inner}${living})`
  }

  #newAlias(): string {
    return `r${++this.#aliases}`
  }

  /** The target's rows as `other`, with the key of the relation's own side. */
  #reach(
    { target, foreign, join }: Relation,
    other: string,
  ): { tables: Fragment; theirs: Fragment } {
    const { sql } = this
    const table = sql`${sql.table(target.name)} as ${sql.id(other)}`
    const key = this.ref(other, foreign)
    if (join === undefined) return { tables: table, theirs: key }
    const pair = `${other}j`
    const on = sql`${key} = ${sql.ref(`${pair}.${join.to}`)}`
    return {
      tables: sql`${sql.table(join.name)} as ${sql.id(pair)} inner join ${table} on ${on}`,
      theirs: sql.ref(`${pair}.${join.from}`),
    }
  }

  #living({ target }: Relation, other: string): Fragment {
    if (target.deletedAt === undefined) return this.sql``
    return this.sql` and ${this.ref(other, target.deletedAt)} is null`
  }
}

const opposites: Readonly<Partial<Record<Compared['operator'], Compared['operator']>>> = {
  eq: 'ne',
  ne: 'eq',
  lt: 'gte',
  lte: 'gt',
  gt: 'lte',
  gte: 'lt',
}

/**
 * The comparison that is true exactly when this one is false, if an index may serve it; undefined if both are false for
 * null.
 */
function toOpposite(compared: Compared): Compared | undefined {
  const operator = opposites[compared.operator]
  if (operator === undefined || compared.at !== undefined) return undefined
  return compared.codec.column.nullable ? undefined : { ...compared, operator }
}
