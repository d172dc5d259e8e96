/** Writes conditions on the rows of an alias. */

import type { Dialect } from '../engines/contract/dialect.js'
import type { Column } from '../engines/contract/table.js'
import type { Condition, SearchCondition } from './condition.js'
import { coversAllRows, type SqlTable } from './table.js'
import type { RankedRows, Ranking, SearchParts } from '../engines/contract/dialect.js'
import { filled, join, raw, slot, sql, within, type Sql } from '../engines/contract/sql-text.js'
import { isDerived, type Derived } from './derived.js'
import { operatorOf } from './operators.js'
import { notDeleted, ref, type WriteContext } from './write-context.js'

/**
 * Decides how a condition through a relation is written.
 *
 * ```sql
 * -- exists: for each row a look at its related rows. Ends early where many rows match.
 * exists (select 1 from "favorite" as "t1" where "t1"."article_id" = "t0"."id" and …)
 * -- list: the keys of the rows that match, found once. Quick where few rows match, because an index finds them.
 * "t0"."id" in (select "t1"."article_id" from "favorite" as "t1" where "t1"."user_id" in (…))
 * -- one: the same of a unique value, where the database plans better for a single key.
 * "t1"."user_id" = (select "t2"."id" from "user" as "t2" where "t2"."username" = ?)
 * ```
 */

type RelatedForm = 'exists' | 'list' | 'one'

type RelatedCondition = Extract<Condition, { kind: 'related' }>

/** Lists and single keys are null where the key is null, so `not` takes `exists`. */
export function relatedFormOf(
  { relation, part }: RelatedCondition,
  { isLocal }: Pick<Dialect, 'isLocal'>,
): RelatedForm {
  const { kind, target, shards } = relation
  // Of another shard nothing is found.
  if (shards !== undefined || !isFoundByIndex(part, target)) return 'exists'
  return isLocal && kind === 'belongsTo' && isUnique(part, target) ? 'one' : 'list'
}

/** The rows are few, found by their keys: related rows are looked at for each of them. */
function isByKey(condition: Condition): boolean {
  switch (condition.kind) {
    case 'all':
      return condition.parts.some(isByKey)
    case 'compare':
      return condition.operator === 'eq' && condition.column.isKey
    case 'list':
      return !condition.orNull && condition.column.isKey
    default:
      return false
  }
}

/** An index leads to the rows that match, from a value that few rows share. */
function isFoundByIndex(condition: Condition, table: SqlTable): boolean {
  switch (condition.kind) {
    case 'all':
      return condition.parts.some((part) => isFoundByIndex(part, table))
    case 'any':
      return (
        condition.parts.length > 0 && condition.parts.every((part) => isFoundByIndex(part, table))
      )
    case 'compare': {
      const { operator, path, isText, column } = condition
      return operator === 'eq' && path === undefined && isText !== true && isIndexed(column, table)
    }
    case 'list':
      return !condition.orNull && isIndexed(condition.column, table)
    case 'search':
      return true
    case 'related': {
      const { relation, part } = condition
      const isReached = relation.kind !== 'belongsTo' || isIndexed(relation.local, table)
      return isReached && isFoundByIndex(part, relation.target)
    }
    case 'not':
    case 'null':
      return false
  }
}

/** An index begins with the column, and its values are not a few words that many rows share. */
function isIndexed(column: Column, { key, shard, indexes }: SqlTable): boolean {
  if (column === key) return true
  if (column.isBoolean || column.field.rules.oneOf !== undefined) return false
  return indexes.some((index) => {
    const [first, second] = index.columns
    return coversAllRows(index) && (first === column || (first === shard && second === column))
  })
}

/** At most one row matches. */
function isUnique(condition: Condition, table: SqlTable): boolean {
  if (condition.kind === 'all') return condition.parts.some((part) => isUnique(part, table))
  if (condition.kind !== 'compare' || condition.operator !== 'eq') return false
  const { column, path, isText } = condition
  if (path !== undefined || isText === true) return false
  const isOnly = table.indexes.some(
    ({ unique, columns, form }) =>
      unique && form?.where === undefined && columns.length === 1 && columns[0] === column,
  )
  return table.shard === undefined && (column === table.key || isOnly)
}

type Compared = Extract<Condition, { kind: 'compare' }>

export class ConditionWriter {
  readonly #context: WriteContext
  #readsAllRows = false
  /** The rows are few: conditions through relations are asked of each. */
  #hasFewRows = false
  /** Searches that rows are ordered by, with the SQL that replaces their conditions. */
  readonly #ranked = new Map<SearchCondition, Sql>()

  constructor(context: WriteContext) {
    this.#context = context
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
        const hasFewRows = this.#hasFewRows
        this.#hasFewRows ||= kind === 'all' && parts.some(isByKey)
        const written = parts.map((part) => this.write(part, alias, isBelow))
        this.#hasFewRows = hasFewRows
        return sql`(${join(written, kind === 'all' ? ' and ' : ' or ')})`
      }
      case 'not':
        return this.#writeNot(condition.part, alias, isBelow)
      case 'null': {
        const operand = this.#operand(condition, alias)
        return condition.isNull ? sql`${operand} is null` : sql`${operand} is not null`
      }
      case 'list': {
        const { column, slots, isPacked, orNull } = condition
        const template = isPacked ? this.#context.dialect.listTest : (['in (', ')'] as const)
        const test = sql`${ref(alias, column)} ${within(template, join(slots.map(slot)))}`
        return orNull ? sql`(${test} or ${ref(alias, column)} is null)` : test
      }
      case 'compare':
        return this.#writeCompare(condition, alias)
      case 'related': {
        const form = this.#hasFewRows ? 'exists' : relatedFormOf(condition, this.#context.dialect)
        return this.#writeRelated(condition, alias, isBelow, form)
      }
      case 'search':
        return (
          this.#ranked.get(condition) ??
          this.#context.dialect.search.test(searchParts(condition, alias))
        )
    }
  }

  /**
   * The same for a statement that reads every row: related rows are matched by a list of keys that is computed once,
   * where the engine would otherwise run a subquery for each row.
   */
  writeForAll(condition: Condition, alias: string): Sql {
    this.#readsAllRows = this.#context.dialect.listsKeys
    const written = this.write(condition, alias)
    this.#readsAllRows = false
    return written
  }

  /** The same for a statement that looks at one row. */
  writeForOne(condition: Condition, alias: string): Sql {
    this.#hasFewRows = true
    const written = this.write(condition, alias)
    this.#hasFewRows = false
    return written
  }

  /** Orders rows by how well they match a search. Call it before the search's condition is written. */
  rank(condition: SearchCondition, alias: string): Ranking {
    const ranking = this.#context.dialect.search.rank(searchParts(condition, alias))
    this.#ranked.set(condition, ranking.test)
    return ranking
  }

  /** The same for some of the rows that it finds. */
  rankSome(condition: SearchCondition, alias: string): RankedRows {
    const ranking = this.#context.dialect.search.some(searchParts(condition, alias))
    this.#ranked.set(condition, ranking.test)
    return ranking
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

  #writeCompare({ column, operator, slot: place, path, isText }: Compared, alias: string): Sql {
    const write = operatorOf(operator).sql
    if (write === undefined)
      throw new TypeError(`${operator} does not compare with a single value.`)
    return write({
      dialect: this.#context.dialect,
      column: this.#operand({ column, path, isText }, alias),
      isNullable: column.nullable || path !== undefined,
      value: slot(place),
    })
  }

  /** A column of the alias's row, or a value of it from other tables. */
  value(alias: string, column: Column): Sql {
    return isDerived(column) ? this.derived(alias, column.derived) : ref(alias, column)
  }

  /** A subquery of one value: null where a row on the way is missing, a count where rows are counted. */
  derived(outer: string, { path: [step, ...rest], column }: Derived): Sql {
    if (step === undefined) return column === undefined ? raw('count(*)') : ref(outer, column)
    const { relation, where } = step
    const alias = this.#context.alias()
    const { from, matchColumn } = this.#context.joinTarget(relation, alias)
    const value = this.derived(alias, { path: rest, column })
    const tests = definedParts(
      this.#context.isRelated(relation, matchColumn, alias, outer),
      where && this.write(where, alias, true),
      notDeleted(relation.target, alias),
    )
    return sql`(select ${value} from ${from} where ${join(tests, ' and ')})`
  }

  /** A column, or the value at a place within it; null if that is missing or of another type. */
  #operand(
    { column, path, isText = false }: Pick<Compared, 'column' | 'path' | 'isText'>,
    alias: string,
  ): Sql {
    const own = this.value(alias, column)
    const c = isText ? within(this.#context.dialect.uuidText, own) : own
    if (path === undefined) return c
    const template = this.#context.dialect.jsonAt[path.type]
    const places = join(path.slots.map((place) => filled(template, { c, p: slot(place) })))
    return path.slots.length === 1 ? sql`(${places})` : sql`coalesce(${places})`
  }

  /**
   * A related row exists that matches the condition: by a subquery for each row of the alias, or by the keys of the matching
   * rows, which do not depend on the alias's row, so that the database finds them once. Lists below others are always found
   * once: otherwise they would be read for every path to them, and a few names in a client's filter would cost minutes.
   */
  #writeRelated(
    { relation, part }: Extract<Condition, { kind: 'related' }>,
    alias: string,
    isBelow: boolean,
    form: RelatedForm,
  ): Sql {
    // Whether any related row exists is one look into the index. Keys are never null: neither form can be null.
    const isAny = part.kind === 'all' && part.parts.length === 0
    const isList =
      form !== 'exists' ||
      (relation.kind !== 'belongsTo' && (isBelow || (this.#readsAllRows && !isAny)))
    const other = this.#context.alias()
    const hasFewRows = this.#hasFewRows
    if (isList) this.#hasFewRows = false
    const inner = this.write(part, other, !isList)
    this.#hasFewRows = hasFewRows
    const { from, matchColumn } = this.#context.joinTarget(relation, other)
    const tests = join([inner, ...definedParts(notDeleted(relation.target, other))], ' and ')
    if (!isList)
      return sql`exists (select 1 from ${from} where ${this.#context.isRelated(relation, matchColumn, other, alias)} and ${tests})`
    const { shards } = relation
    const own = this.#context.localColumn(relation, alias)
    if (form === 'one') return sql`${own} = (select ${matchColumn} from ${from} where ${tests})`
    const [localValue, found] =
      shards === undefined
        ? [own, matchColumn]
        : [
            sql`(${own}, ${ref(alias, shards.local)})`,
            sql`${matchColumn}, ${ref(other, shards.foreign)}`,
          ]
    return sql`${localValue} in (select ${found} from ${from} where ${matchColumn} is not null and ${tests})`
  }
}

function searchParts({ table, search, slot: place }: SearchCondition, alias: string): SearchParts {
  return { table, search, alias, value: slot(place) }
}

/** The pieces that there are. */
export function definedParts(...pieces: readonly (Sql | undefined)[]): Sql[] {
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
  if (operator === undefined || compared.path !== undefined) return undefined
  return compared.column.nullable ? undefined : { ...compared, operator }
}
