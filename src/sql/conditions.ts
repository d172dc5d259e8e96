/** Writes conditions on the rows of an alias. */
import type { RankedRows, Ranking, SearchParts } from '../engines/contract/dialect.js'
import { filled, join, raw, slot, sql, within, type Sql } from '../engines/contract/sql-text.js'
import type { Column } from '../engines/contract/table.js'
import type { Condition, SearchCondition } from './condition.js'
import { isDerived, type Derived } from './derived.js'
import { operatorOf } from './operators.js'
import { formOf, isByKey, type RelatedForm } from './related-form.js'
import { living, ref, type Writing } from './writing.js'

type Compared = Extract<Condition, { kind: 'compare' }>

export class ConditionWriter {
  readonly #writing: Writing
  #looksAtAll = false
  /** The rows are few: conditions through relations are asked of each. */
  #areFew = false
  /** Searches that rows are ordered by, with the SQL that replaces their conditions. */
  readonly #ranked = new Map<SearchCondition, Sql>()

  constructor(writing: Writing) {
    this.#writing = writing
  }

  /**
   * @param alias the alias of the table that the condition was read for
   * @param isBelow whether the alias depends on the row of another table
   */
  write(condition: Condition, alias: string, isBelow = false): Sql {
    switch (condition.kind) {
      case 'all':
      case 'any': {
        const { kind, parts } = condition
        if (parts.length === 0) return kind === 'all' ? sql`1 = 1` : sql`1 = 0`
        const areFew = this.#areFew
        this.#areFew ||= kind === 'all' && parts.some(isByKey)
        const written = parts.map((part) => this.write(part, alias, isBelow))
        this.#areFew = areFew
        return sql`(${join(written, kind === 'all' ? ' and ' : ' or ')})`
      }
      case 'not':
        return this.#writeNot(condition.part, alias, isBelow)
      case 'null': {
        const place = this.#place(condition, alias)
        return condition.isNull ? sql`${place} is null` : sql`${place} is not null`
      }
      case 'list': {
        const { column, slots, packed, orNull } = condition
        const words = packed ? this.#writing.dialect.listTest : (['in (', ')'] as const)
        const test = sql`${ref(alias, column)} ${within(words, join(slots.map(slot)))}`
        return orNull ? sql`(${test} or ${ref(alias, column)} is null)` : test
      }
      case 'compare':
        return this.#writeCompare(condition, alias)
      case 'related': {
        const form = this.#areFew ? 'exists' : formOf(condition, this.#writing.dialect)
        return this.#writeRelated(condition, alias, isBelow, form)
      }
      case 'search':
        return (
          this.#ranked.get(condition) ??
          this.#writing.dialect.search.test(searched(condition, alias))
        )
    }
  }

  /**
   * The same for a statement that reads every row: related rows are matched by a list of keys that is computed once,
   * where the engine would otherwise run a subquery for each row.
   */
  writeForAll(condition: Condition, alias: string): Sql {
    this.#looksAtAll = this.#writing.dialect.listsKeys
    const written = this.write(condition, alias)
    this.#looksAtAll = false
    return written
  }

  /** The same for a statement that looks at one row. */
  writeForOne(condition: Condition, alias: string): Sql {
    this.#areFew = true
    const written = this.write(condition, alias)
    this.#areFew = false
    return written
  }

  /** Orders rows by how well they match a search. Call it before the search's condition is written. */
  rank(condition: SearchCondition, alias: string): Ranking {
    const ranking = this.#writing.dialect.search.rank(searched(condition, alias))
    this.#ranked.set(condition, ranking.test)
    return ranking
  }

  /** The same for some of the rows that it finds. */
  some(condition: SearchCondition, alias: string): RankedRows {
    const some = this.#writing.dialect.search.some(searched(condition, alias))
    this.#ranked.set(condition, some.test)
    return some
  }

  #writeNot(part: Condition, alias: string, isBelow: boolean): Sql {
    // An anti join; `exists` is never null.
    if (part.kind === 'related')
      return sql`not ${this.#writeRelated(part, alias, isBelow, 'exists')}`
    const opposite = part.kind === 'compare' ? toOpposite(part) : undefined
    if (opposite !== undefined) return this.#writeCompare(opposite, alias)
    // Not `not (…)`: that is null for comparisons with null, so neither the condition nor its opposite would match.
    return sql`(${this.write(part, alias, isBelow)}) is not true`
  }

  #writeCompare({ column, operator, slot: place, at, isText }: Compared, alias: string): Sql {
    const write = operatorOf(operator).sql
    if (write === undefined)
      throw new TypeError(`${operator} does not compare with a single value.`)
    return write({
      dialect: this.#writing.dialect,
      column: this.#place({ column, at, isText }, alias),
      isNullable: column.nullable || at !== undefined,
      value: slot(place),
    })
  }

  /** A column of the alias's row, or a value of it from other tables. */
  value(alias: string, column: Column): Sql {
    return isDerived(column) ? this.derived(alias, column.derived) : ref(alias, column)
  }

  /** A subquery of one value: null where a row on the way is missing, a count where rows are counted. */
  derived(outer: string, { path: [step, ...further], of }: Derived): Sql {
    if (step === undefined) return of === undefined ? raw('count(*)') : ref(outer, of)
    const { tie, where } = step
    const alias = this.#writing.alias()
    const { from, led } = this.#writing.reach(tie, alias)
    const value = this.derived(alias, { path: further, of })
    const tests = present(
      this.#writing.isTied(tie, led, alias, outer),
      where && this.write(where, alias, true),
      living(tie.target, alias),
    )
    return sql`(select ${value} from ${from} where ${join(tests, ' and ')})`
  }

  /** A column, or the value at a place within it; null if that is missing or of another type. */
  #place(
    { column, at, isText = false }: Pick<Compared, 'column' | 'at' | 'isText'>,
    alias: string,
  ): Sql {
    const own = this.value(alias, column)
    const c = isText ? within(this.#writing.dialect.uuidText, own) : own
    if (at === undefined) return c
    const words = this.#writing.dialect.jsonAt[at.type]
    const places = join(at.slots.map((place) => filled(words, { c, p: slot(place) })))
    return at.slots.length === 1 ? sql`(${places})` : sql`coalesce(${places})`
  }

  /**
   * A related row exists that matches the condition: by a subquery for each row of the alias, or by the keys of the matching
   * rows, which do not depend on the alias's row, so that the database finds them once. Lists below others are always found
   * once: otherwise they would be read for every path to them, and a few names in a client's filter would cost minutes.
   */
  #writeRelated(
    { relation: tie, part }: Extract<Condition, { kind: 'related' }>,
    alias: string,
    isBelow: boolean,
    form: RelatedForm,
  ): Sql {
    // Whether any related row exists is one look into the index. Keys are never null: neither form can be null.
    const isAny = part.kind === 'all' && part.parts.length === 0
    const isList =
      form !== 'exists' || (tie.kind !== 'belongsTo' && (isBelow || (this.#looksAtAll && !isAny)))
    const other = this.#writing.alias()
    const areFew = this.#areFew
    if (isList) this.#areFew = false
    const inner = this.write(part, other, !isList)
    this.#areFew = areFew
    const { from, led } = this.#writing.reach(tie, other)
    const tests = join([inner, ...present(living(tie.target, other))], ' and ')
    if (!isList)
      return sql`exists (select 1 from ${from} where ${this.#writing.isTied(tie, led, other, alias)} and ${tests})`
    const { shards } = tie
    const own = this.#writing.local(tie, alias)
    if (form === 'one') return sql`${own} = (select ${led} from ${from} where ${tests})`
    const [mine, found] =
      shards === undefined
        ? [own, led]
        : [sql`(${own}, ${ref(alias, shards.local)})`, sql`${led}, ${ref(other, shards.foreign)}`]
    return sql`${mine} in (select ${found} from ${from} where ${led} is not null and ${tests})`
  }
}

function searched({ table, search, slot: place }: SearchCondition, alias: string): SearchParts {
  return { table, search, alias, value: slot(place) }
}

/** The pieces that there are. */
export function present(...pieces: readonly (Sql | undefined)[]): Sql[] {
  return pieces.filter((piece) => piece !== undefined)
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
  return compared.column.nullable ? undefined : { ...compared, operator }
}
