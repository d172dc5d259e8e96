/** Writes conditions on the rows of an alias. */
import type { Dialect } from '../engines/contract/dialect.js'
import type { Column } from '../engines/contract/table.js'
import { type SqlTable, isApart, isIndexed, isUnique } from './table.js'
import type { Condition, SearchCondition } from './condition.js'
import { isDerived, type Derived } from './derived.js'
import type {
  BestMatches,
  RankedRows,
  Ranking,
  SearchParts,
} from '../engines/contract/search-sql.js'
import {
  filled,
  inBatches,
  join,
  name,
  raw,
  slot,
  sql,
  wrap,
  type Sql,
} from '../engines/contract/sql-text.js'
import { operatorOf } from './operators.js'
import { areEqual, isListed, keyColumns, keySlots, partitionPartOf, rowOf } from './key-columns.js'
import { isNullSql, notDeleted, ref, type WriteContext } from './write-context.js'

/**
 * How a condition on related rows is written.
 *
 * ```sql
 * -- exists: tests the related rows of each row. Ends early if many rows match.
 * exists (select 1 from "favorite" as "t1" where "t1"."article_id" = "t0"."id" and …)
 * -- list: finds the keys of the matching rows once. Fast if an index finds a few of them.
 * "t0"."id" in (select "t1"."article_id" from "favorite" as "t1" where "t1"."user_id" in (…))
 * -- one: the same for a unique value, because the database makes a better plan for a single key.
 * "t1"."user_id" = (select "t2"."id" from "user" as "t2" where "t2"."username" = ?)
 * ```
 */
type RelatedForm = 'exists' | 'list' | 'one'

type RelatedCondition = Extract<Condition, { kind: 'related' }>

/** Do not use it below `not`: a list or a single key is null if the key is null. `exists` never is. */
export function relatedFormOf(
  { relation, part }: RelatedCondition,
  { statements }: Pick<Dialect, 'statements'>,
): RelatedForm {
  const { kind, target, shards } = relation
  // Related rows are always in the same shard.
  if (shards !== undefined || !isFoundByIndex(part, target)) return 'exists'
  return statements.prefersSingleKeys && kind === 'belongsTo' && matchesOneRow(part, target)
    ? 'one'
    : 'list'
}

/** Whether rows are found by key, so that there are few and `exists` is fast. */
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

/** Whether an index finds the matching rows by a value that few rows have. */
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
      return (
        operator === 'eq' &&
        path === undefined &&
        isText !== true &&
        hasSelectiveIndex(column, table)
      )
    }
    case 'list':
      return !condition.orNull && hasSelectiveIndex(condition.column, table)
    case 'search':
      return true
    case 'related': {
      const { relation, part } = condition
      const isReached = relation.kind !== 'belongsTo' || hasSelectiveIndex(relation.local, table)
      return isReached && isFoundByIndex(part, relation.target)
    }
    case 'not':
    case 'null':
      return false
  }
}

/** Whether an index finds the rows with a value. Many rows have the same value of a boolean or an enumeration. */
function hasSelectiveIndex(column: Column, table: SqlTable): boolean {
  const hasFewValues = column.isBoolean || column.field.rules.oneOf !== undefined
  return !hasFewValues && isIndexed(column, table)
}

/** Whether at most one row matches. */
function matchesOneRow(condition: Condition, table: SqlTable): boolean {
  if (condition.kind === 'all') return condition.parts.some((part) => matchesOneRow(part, table))
  if (condition.kind !== 'compare' || condition.operator !== 'eq') return false
  const { column, path, isText } = condition
  if (path !== undefined || isText === true) return false
  return table.shard === undefined && isUnique(column, table)
}

type Compared = Extract<Condition, { kind: 'compare' }>

export class ConditionWriter {
  readonly #context: WriteContext
  #readsAllRows = false
  /** The rows are few, so conditions on related rows use `exists`. */
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
        const { column, path } = condition
        if (path === undefined && !isDerived(column))
          return isNullSql(alias, column, condition.isNull)
        const operand = this.#operand(condition, alias)
        return condition.isNull ? sql`${operand} is null` : sql`${operand} is not null`
      }
      case 'list': {
        const { column, slots, orNull } = condition
        const { dialect, valueColumns } = this.#context
        for (const one of slots) valueColumns.set(one, column.name)
        const values =
          column.parts === undefined
            ? [this.#context.comparable(alias, column)]
            : keyColumns(alias, column)
        const test = isListed(values, column, condition, dialect, partitionPartOf(column, dialect))
        return orNull ? sql`(${test} or ${isNullSql(alias, column, true)})` : test
      }
      case 'compare':
        return this.#writeCompare(condition, alias)
      case 'related': {
        const form = this.#hasFewRows ? 'exists' : relatedFormOf(condition, this.#context.dialect)
        return this.#writeRelated(condition, alias, isBelow, form)
      }
      case 'search':
        return this.#ranked.get(condition) ?? this.#writeSearch(condition, alias)
    }
  }

  /**
   * Writes a condition for a statement that reads every row. Related rows are matched by a list of keys that is computed once,
   * instead of a subquery for each row.
   */
  writeForAll(condition: Condition, alias: string): Sql {
    this.#readsAllRows = this.#context.dialect.statements.listsKeys
    const written = this.write(condition, alias)
    this.#readsAllRows = false
    return written
  }

  /** Writes a condition for a statement that tests one row. */
  writeForOne(condition: Condition, alias: string): Sql {
    this.#hasFewRows = true
    const written = this.write(condition, alias)
    this.#hasFewRows = false
    return written
  }

  /** Orders rows by how well they match a search. Call it before the search's condition is written. */
  rank(condition: SearchCondition, alias: string, best?: BestMatches): Ranking {
    const ranking = this.#context.dialect.text.search.rank(searchParts(condition, alias), best)
    this.#ranked.set(condition, ranking.test)
    return ranking
  }

  /** Like `rank`, for a limited number of matches. */
  rankSome(condition: SearchCondition, alias: string): RankedRows {
    const ranking = this.#context.dialect.text.search.some(searchParts(condition, alias))
    this.#ranked.set(condition, ranking.test)
    return ranking
  }

  #writeSearch(condition: SearchCondition, alias: string): Sql {
    const { search } = this.#context.dialect.text
    const parts = searchParts(condition, alias)
    if (this.#hasFewRows && search.testOne !== undefined) return search.testOne(parts)
    return search.test(parts)
  }

  /** Selects the keys of the rows that a search finds. */
  searchKeys(condition: SearchCondition, alias: string): Sql {
    const { keys } = this.#context.dialect.text.search
    if (keys === undefined) throw new TypeError('The search has no list of keys.')
    return keys(searchParts(condition, alias))
  }

  #writeNot(part: Condition, alias: string, isBelow: boolean): Sql {
    // An anti join. `exists` is never null.
    if (part.kind === 'related')
      return sql`not ${this.#writeRelated(part, alias, isBelow, 'exists')}`
    const opposite = part.kind === 'compare' ? toOpposite(part) : undefined
    if (opposite !== undefined) return this.#writeCompare(opposite, alias)
    // Not `not (…)`, which is null for comparisons with null: neither the condition nor its opposite would match.
    return sql`(${this.write(part, alias, isBelow)}) is not true`
  }

  #writeCompare(compared: Compared, alias: string): Sql {
    const { column, operator, slot: slotIndex, path, isText } = compared
    const write = operatorOf(operator).sql
    if (write === undefined)
      throw new TypeError(`${operator} does not compare with a single value.`)
    if (column.parts !== undefined) {
      const values = keySlots(column, slotIndex)
      if (operator === 'eq')
        return sql`${areEqual(keyColumns(alias, column), values)}${this.#ofBatch(column.parts, alias, values)}`
      return write({
        dialect: this.#context.dialect,
        column: ref(alias, column),
        isNullable: false,
        isArray: false,
        value: rowOf(values),
      })
    }
    const test = write({
      dialect: this.#context.dialect,
      column: this.#operand({ column, path, isText }, alias),
      isNullable: column.nullable || path !== undefined,
      isArray: column.isArray,
      value: this.#context.valueOf(column, slotIndex),
    })
    if (column.partition === undefined || path !== undefined || isText === true) return test
    if (isDerived(column)) return test
    return this.#withPartition(compared, alias, test)
  }

  /** Adds to a comparison of a key, or of the time of a key, what shows the planner the partitions with matching rows. */
  #withPartition({ column, operator, slot: slotIndex }: Compared, alias: string, test: Sql): Sql {
    const { partitions } = this.#context.dialect.tables
    const { partition = '' } = column
    if (partitions === undefined) return test
    const value = slot(slotIndex)
    if (partition === column.name)
      return operator === 'eq' ? sql`${test}${this.#ofBatch([column], alias, [value])}` : test
    const key = name(alias, partition)
    const first = (moment: keyof typeof partitions.firstKey): Sql =>
      filled(partitions.firstKey[moment], { v: value })
    const limits: Partial<Record<typeof operator, Sql>> = {
      eq: sql`${key} >= ${first('at')} and ${key} < ${first('after')}`,
      gt: sql`${key} >= ${first('at')}`,
      gte: sql`${key} >= ${first('at')}`,
      lt: sql`${key} < ${first('notBefore')}`,
      lte: sql`${key} < ${first('after')}`,
    }
    const limit = limits[operator]
    return limit === undefined ? test : sql`(${test} and ${limit})`
  }

  /** For calls that are combined: partitions are left out only by the values of all calls. */
  #ofBatch(columns: readonly Column[], alias: string, values: readonly Sql[]): Sql | undefined {
    const index = columns.findIndex(({ partition, name: own }) => partition === own)
    const [column, value] = [columns[index], values[index]]
    if (column === undefined || value === undefined) return undefined
    if (this.#context.dialect.tables.partitions === undefined) return undefined
    return inBatches(value, name(alias, column.name))
  }

  /** A column of the alias's row as it is compared, or its derived value. */
  value(alias: string, column: Column): Sql {
    return isDerived(column)
      ? this.derived(alias, column.derived)
      : this.#context.comparable(alias, column)
  }

  /** A subquery of a derived value: a count, or a field, which is null if a row on the path is missing. */
  derived(outer: string, { path: [step, ...rest], column }: Derived): Sql {
    if (step === undefined)
      return column === undefined ? raw('count(*)') : this.#context.comparable(outer, column)
    const { relation, where } = step
    const alias = this.#context.aliasOfRelated(relation, outer)
    const { from, matchColumns } = this.#context.joinTarget(relation, alias)
    const value = this.derived(alias, { path: rest, column })
    const tests = definedParts(
      this.#context.isRelated(relation, matchColumns, alias, outer),
      where && this.write(where, alias, true),
      notDeleted(relation.target, alias),
    )
    return sql`(select ${value} from ${from} where ${join(tests, ' and ')})`
  }

  /** A column, or the value at a path within its JSON: null if it is missing or of another type. */
  #operand(
    { column, path, isText = false }: Pick<Compared, 'column' | 'path' | 'isText'>,
    alias: string,
  ): Sql {
    const value = this.value(alias, column)
    const c = isText ? wrap(this.#context.dialect.values.uuidText, value) : value
    if (path === undefined) return c
    const template = this.#context.dialect.json.at[path.type]
    const values = join(path.slots.map((index) => filled(template, { c, p: slot(index) })))
    return path.slots.length === 1 ? sql`(${values})` : sql`coalesce(${values})`
  }

  /**
   * Writes the condition that a matching related row exists: as a subquery for each row of the alias, or as a list of keys that
   * the database computes once. A nested condition on a list of rows always uses keys. Otherwise its rows would be read for
   * every path to them, and a short filter could take minutes.
   */
  #writeRelated(
    { relation, part }: Extract<Condition, { kind: 'related' }>,
    alias: string,
    isBelow: boolean,
    form: RelatedForm,
  ): Sql {
    // Whether any related row exists is one index lookup. Keys are never null, so neither form can be null.
    const isAny = part.kind === 'all' && part.parts.length === 0
    const isList =
      form !== 'exists' ||
      isApart(relation, this.#context.dialect) ||
      (relation.kind !== 'belongsTo' && (isBelow || (this.#readsAllRows && !isAny)))
    const other = this.#context.aliasOfRelated(relation, alias)
    const hasFewRows = this.#hasFewRows
    if (isList) this.#hasFewRows = false
    const inner = this.write(part, other, !isList)
    this.#hasFewRows = hasFewRows
    const { from, matchColumns } = this.#context.joinTarget(relation, other)
    const tests = join([inner, ...definedParts(notDeleted(relation.target, other))], ' and ')
    if (!isList)
      return sql`exists (select 1 from ${from} where ${this.#context.isRelated(relation, matchColumns, other, alias)} and ${tests})`
    const { shards } = relation
    const localColumns = this.#context.localColumns(relation, alias)
    if (form === 'one')
      return sql`${rowOf(localColumns)} = (select ${join(matchColumns)} from ${from} where ${tests})`
    const [localValues, found] =
      shards === undefined
        ? [localColumns, matchColumns]
        : [
            [...localColumns, ref(alias, shards.local)],
            [...matchColumns, ref(other, shards.foreign)],
          ]
    const inShard = shards && this.#context.isInShard(other, shards.foreign)
    const areSet = join(
      matchColumns.map((column) => sql`${column} is not null`),
      ' and ',
    )
    return sql`${rowOf(localValues)} in (select ${join(found)} from ${from} where ${areSet} and ${tests}${inShard})`
  }
}

function searchParts(
  { table, search, slot: slotIndex }: SearchCondition,
  alias: string,
): SearchParts {
  return { table, search, alias, value: slot(slotIndex) }
}

/** Removes parts that are `undefined`. */
export function definedParts(...pieces: readonly (Sql | undefined)[]): Sql[] {
  return pieces.filter((piece) => piece !== undefined)
}

/**
 * The opposite comparison, which can use an index.
 *
 * @returns `undefined` if both comparisons are false for null
 */
function toOpposite(compared: Compared): Compared | undefined {
  const { opposite } = operatorOf(compared.operator)
  if (opposite === undefined || compared.path !== undefined) return undefined
  return compared.column.nullable ? undefined : { ...compared, operator: opposite }
}
