/**
 * Estimates the cost of a client's query in points, one for about a thousand examined rows. The estimate uses the
 * query, the indexes and the approximate sizes of the tables. Nothing is run.
 */

import { isPlainObject } from '../../core/json.js'
import { maxPatternLength } from '../filters/comparison.js'
import { maxConditions } from '../filters/filter.js'
import { skippedBy, searchLimitOf, searchOf } from '../filters/search.js'
import { isIndexed, isUnique } from '../../sql/table.js'
import type { Column } from '../../engines/contract/table.js'
import type { Relation, Table } from '../model/table.js'
import {
  operatorNames,
  operatorOf,
  readOperator,
  searchesText,
  selectsRange,
} from '../../sql/operators.js'

/** The comparisons that search a text or a list, and paths within JSON. */
const patternOperators: ReadonlySet<string> = new Set([
  'path',
  ...operatorNames.filter(searchesText),
])
const rangeOperators: ReadonlySet<string> = new Set(operatorNames.filter(selectsRange))
/** The number of characters of a pattern that cost nothing. */
const freeCharacters = 50

/** @returns the number of characters of a pattern that add to its cost */
function extraCharacters(operator: string, operand: unknown): number {
  const isPattern = operator === 'like' || operator === 'ilike'
  return isPattern && typeof operand === 'string' ? Math.max(0, operand.length - freeCharacters) : 0
}

/** Points for each row that is read, compared, sorted or skipped. */
const weights = Object.freeze({
  row: 1 / 1000,
  /** Operators cost a multiple of it. */
  compared: 0.2 / 1000,
  sorted: 2 / 1000,
  /** Rows that an offset skips cost the same for every table size. */
  skipped: 1 / 50,
  /** Fixed points for each list: for every pattern, every wildcard in it, and every condition through a relation. */
  pattern: 5,
  wildcard: 1,
  /** For each character of a pattern beyond the free ones: it is compared at each position of a text. */
  longPattern: 2,
  relation: 2,
  unindexedOrder: 1,
  listed: 1 / 100,
})

/** Stands for a value that is not known yet, such as a variable. */
export const unknownValue: unique symbol = Symbol('a value that is not known yet')

/** The names by which a query addresses a record's columns and relations. */
export interface RecordNames {
  readonly table: Table
  column(name: string): Column | undefined
  relation(name: string): { readonly relation: Relation; readonly naming: RecordNames } | undefined
}

/** The record's own names. */
export function recordNaming(table: Table): RecordNames {
  return {
    table,
    column: (name) => table.byProperty.get(name),
    relation: (name) => {
      const relation = table.relations.get(name)
      return relation && { relation, naming: recordNaming(relation.target) }
    },
  }
}

export interface CostedQuery {
  readonly where?: unknown
  /** `{ price: 'desc' }`, or a list of such objects. */
  readonly orderBy?: unknown
  readonly offset?: unknown
  /** A cursor. In a search, or in a list with `distinct`, it skips rows like an offset. */
  readonly after?: unknown
  /** True if all rows are counted. */
  readonly countsRows?: boolean
  /** True if all rows are read, for sums and groups. */
  readonly aggregates?: boolean
  /** The number of relations that lead to the fields of groups. */
  readonly groupRelations?: number
  /** Fields in which rows differ: all rows are read. */
  readonly distinct?: unknown
}

export interface QueryCost {
  readonly points: number
  /** True if the cost depends on values that are not known yet. */
  readonly dependsOnVariables: boolean
  /** The largest number of rows that are searched for one text, because no index finds it. Sharded tables do not count. */
  readonly searchedRows: number
}

/** The data that estimates are based on. */
export interface CostBasis {
  /** The number of rows of a table, by its name. */
  rowsOf(table: string): number
  /** The average bytes of a row of a table, by its name. 0 if unknown. */
  bytesOf(table: string): number
  /** The number of matches that a search ranks, for records without their own `searchLimit`. */
  readonly searchLimit: number
  /** Whether the database has the trigram indexes that records declare. */
  readonly hasTrigrams: boolean
}

/** The cost of a list or a count, without the rows that it returns. */
export function costOf(naming: RecordNames, query: CostedQuery, basis: CostBasis): QueryCost {
  const rows = basis.rowsOf(naming.table.name)
  return new CostReader(basis).read(naming, query, rows)
}

/** The cost of reading the related rows of one row. */
export function costOfRelated(
  relation: Relation,
  naming: RecordNames,
  query: CostedQuery,
  basis: CostBasis,
): QueryCost {
  return new CostReader(basis).read(naming, query, averageRelatedRows(relation, basis))
}

/** The number of rows of the table that links two records: the related table, or the join table. */
export function linkedRows({ join, target }: Relation, basis: CostBasis): number {
  return basis.rowsOf(join?.name ?? target.name)
}

/** The average number of related rows of one row. */
export function averageRelatedRows(relation: Relation, basis: CostBasis): number {
  return linkedRows(relation, basis) / Math.max(1, basis.rowsOf(relation.table.name))
}

/** The estimated work of a filter on a table. */
interface Work {
  /** The number of rows that are read. */
  readonly rows: number
  /** Points for each of them. */
  readonly each: number
  /** Points for work that is done once, whatever the number of rows. */
  readonly once: number
}

/** Bytes of a returned row that its point includes. */
const bytesPerPoint = 8 * 1024
/** Bytes of a row up to which all rows cost the same to read. */
const bytesPerRead = 4 * 1024

/** The points for the bytes of returned rows, in addition to one for each row. @param rows the requested number */
export function costOfBytes(table: string, rows: number, basis: CostBasis): number {
  const returned = Math.min(rows, Math.max(1, basis.rowsOf(table)))
  return returned * Math.max(0, basis.bytesOf(table) / bytesPerPoint - 1)
}

/** Bytes of a table from which the bytes of its rows count. All rows of a smaller one fit into a response. */
const minBytes = 32 * 1024 * 1024
/** The maximum length of texts that do not make rows large. */
const shortText = 1000

/**
 * The cost of reading a column of one row: the bytes of rows are shared by the columns that may be large.
 *
 * @returns `undefined` for a column whose values are small
 */
export function costOfColumn(
  table: Table,
  column: Column,
  basis: CostBasis,
): QueryCost | undefined {
  if (!mayBeLarge(column)) return undefined
  const { name, columns } = table
  const isLarge = basis.rowsOf(name) * basis.bytesOf(name) > minBytes
  const rowPoints = isLarge ? basis.bytesOf(name) / bytesPerPoint : 0
  const points = Math.max(0, rowPoints / columns.filter(mayBeLarge).length - 1)
  return { points, dependsOnVariables: false, searchedRows: 0 }
}

function mayBeLarge({ storage, field }: Column): boolean {
  const { maxLength = Infinity } = field.rules
  return storage === 'bytes' || storage === 'json' || (storage === 'text' && maxLength > shortText)
}

/** How many times as much a row costs to read as a small one. */
function widthOf(table: string, basis: CostBasis): number {
  return Math.max(1, basis.bytesOf(table) / bytesPerRead)
}

class CostReader {
  #dependsOnVariables = false
  #searchedRows = 0
  /** Matches of a search are read in the order of their ranks. */
  #isRanked = false
  readonly #basis: CostBasis

  constructor(basis: CostBasis) {
    this.#basis = basis
  }

  read(naming: RecordNames, query: CostedQuery, rows: number): QueryCost {
    const isFiltered = hasConditions(query.where)
    const readsAll = query.aggregates === true || isGiven(query.distinct)
    this.#isRanked = !isGiven(query.orderBy) && !query.countsRows && !readsAll
    const work = isFiltered
      ? this.#filter(naming, query.where, rows)
      : { rows: readsAll ? rows : 0, each: 0, once: 0 }
    const order = this.#order(naming, query.orderBy)
    const width = widthOf(naming.table.name, this.#basis)
    const { groupRelations = 0 } = query
    const eachRow = weights.row * (1 + groupRelations) + work.each
    let points = work.once + groupRelations * weights.relation + work.rows * width * eachRow
    if (order !== undefined) {
      const sorted = isFiltered ? work.rows : rows
      // For each row, the row to sort by is found through these relations.
      points += weights.unindexedOrder + weights.relation * order.relations
      points += sorted * width * (weights.row * (1 + order.relations) + weights.sorted)
    }
    if (query.countsRows === true && !isFiltered) points += rows * weights.row * 0.1
    if (query.after === unknownValue) this.#dependsOnVariables = true
    const skippedRows = this.#count(query.offset) + skippedBy(query.after)
    points += skippedRows * weights.skipped
    return {
      points,
      dependsOnVariables: this.#dependsOnVariables,
      searchedRows: this.#searchedRows,
    }
  }

  /** Conditions that must all hold: the one with the best index decides how many rows are read. */
  #filter(naming: RecordNames, where: unknown, rows: number): Work {
    if (where === unknownValue) this.#dependsOnVariables = true
    if (!isPlainObject(where)) return { rows, each: 0, once: 0 }
    const parts = Object.keys(where).map((name) => this.#condition(naming, name, where[name], rows))
    return combine(parts, rows)
  }

  #condition(naming: RecordNames, name: string, value: unknown, rows: number): Work {
    if (value === undefined) return { rows, each: 0, once: 0 }
    if (value === unknownValue) this.#dependsOnVariables = true
    if (name === 'and' || name === 'or') {
      // A longer list is refused.
      const list = toList(value).slice(0, maxConditions)
      const parts = list.map((part) => this.#filter(naming, part, rows))
      if (name === 'and') return combine(parts, rows)
      const all = parts.reduce((sum, part) => sum + part.rows, 0)
      return { ...combine(parts, rows), rows: Math.min(rows, all) }
    }
    if (name === 'not') return { ...this.#filter(naming, value, rows), rows }
    const column = naming.column(name)
    if (column === undefined && searchOf(naming.table, name) !== undefined)
      return this.#search(naming.table, value, rows)
    if (column !== undefined) return this.#tests(naming.table, column, value, rows)
    const through = naming.relation(name)
    return through === undefined ? { rows, each: 0, once: 0 } : this.#related(through, value, rows)
  }

  /**
   * The words are looked up in an index. All rows may contain them, and are read for another order, a count or an
   * aggregate. An order by rank reads only the ranked matches.
   */
  #search(table: Table, value: unknown, rows: number): Work {
    const wordCount = typeof value === 'string' ? readable(value).split(/\s+/).length : 1
    const once = weights.pattern + wordCount * weights.wildcard
    const found = this.#isRanked ? Math.min(rows, searchLimitOf(table, this.#basis)) : rows
    return { rows: found, each: comparisonCost('like'), once }
  }

  /** A condition through a relation reads the related rows: once for all rows, or once for each row. */
  #related(
    { relation, naming }: { readonly relation: Relation; readonly naming: RecordNames },
    value: unknown,
    rows: number,
  ): Work {
    const related = linkedRows(relation, this.#basis)
    // A search through a relation is not ranked, so it reads all its matches.
    const isRanked = this.#isRanked
    this.#isRanked = false
    const inner = this.#filter(naming, value, related)
    this.#isRanked = isRanked
    const width = widthOf(naming.table.name, this.#basis)
    const once = weights.relation + inner.once + inner.rows * width * (weights.row + inner.each)
    return { rows, each: weights.compared, once }
  }

  #tests(table: Table, column: Column, value: unknown, rows: number): Work {
    if (!isPlainObject(value)) return this.#test(table, column, ['eq', value], rows)
    const parts = Object.entries(value).map((entry) =>
      column.compares === 'json' && readOperator(entry[0]) === undefined && entry[0] !== 'path'
        ? this.#part(table, column, entry, rows)
        : this.#test(table, column, entry, rows),
    )
    return combine(parts, rows)
  }

  /** Conditions on a part of a nested class, which costs as much as a path within JSON. */
  #part(
    table: Table,
    column: Column,
    [name, value]: readonly [string, unknown],
    rows: number,
  ): Work {
    if (value === unknownValue) this.#dependsOnVariables = true
    if (name === 'and' || name === 'or') {
      const list = toList(value).slice(0, maxConditions)
      return combine(
        list.map((part) => this.#tests(table, column, part, rows)),
        rows,
      )
    }
    const tests = this.#tests(table, column, value, rows)
    if (name === 'not') return tests
    return combine([this.#test(table, column, ['path', null], rows), tests], rows)
  }

  #test(
    table: Table,
    column: Column,
    [operator, operand]: readonly [string, unknown],
    rows: number,
  ): Work {
    if (operand === undefined) return { rows, each: 0, once: 0 }
    const means = meaningOf(operator)
    if (means !== undefined) {
      const values = toList(operand)
      const tests = means.map((one, index) =>
        this.#test(table, column, [one, values[index] ?? null], rows),
      )
      return combine(tests, rows)
    }
    const each = comparisonCost(operator)
    if (patternOperators.has(operator)) {
      if (operand === unknownValue) this.#dependsOnVariables = true
      const wildcards =
        typeof operand === 'string' ? (readable(operand).match(/%/g)?.length ?? 0) : 0
      const once =
        weights.pattern +
        wildcards * weights.wildcard +
        weights.longPattern * extraCharacters(operator, operand)
      const isFound = this.#findsPattern(table, column, operator, operand)
      if (!isFound && table.shard === undefined)
        this.#searchedRows = Math.max(this.#searchedRows, rows)
      return { rows: isFound ? rows / 100 : rows, each, once }
    }
    const hasIndex = isIndexed(column, table)
    if (operator === 'in') {
      if (operand === unknownValue) this.#dependsOnVariables = true
      const { length } = toList(operand)
      const found = hasIndex ? Math.min(rows, length * rowsPerValue(table, column, rows)) : rows
      return { rows: found, each, once: length * weights.listed }
    }
    if (!hasIndex) return { rows, each, once: 0 }
    if (operator === 'eq') return { rows: rowsPerValue(table, column, rows), each: 0, once: 0 }
    return { rows: rangeOperators.has(operator) ? rows / 4 : rows, each: 0, once: 0 }
  }

  /**
   * Whether an index finds the texts: a plain index finds them by a known beginning, a trigram index by three letters or
   * digits in a row. Source: PostgreSQL, pg_trgm.
   */
  #findsPattern(table: Table, column: Column, operator: string, operand: unknown): boolean {
    const hasBeginning =
      operator === 'startsWith' ||
      (operator === 'like' && typeof operand === 'string' && /^[^%_\\]{2,}/.test(operand))
    if (hasBeginning && isIndexed(column, table)) return true
    return (
      this.#basis.hasTrigrams &&
      typeof operand === 'string' &&
      /[\p{L}\p{N}]{3}/u.test(readable(operand)) &&
      hasTrigramIndex(column, table)
    )
  }

  /** @returns `undefined` if an index has the rows in this order */
  #order(naming: RecordNames, orderBy: unknown): { readonly relations: number } | undefined {
    if (!isGiven(orderBy)) return undefined
    if (orderBy === unknownValue) this.#dependsOnVariables = true
    for (const term of toList(orderBy)) {
      if (term === unknownValue) this.#dependsOnVariables = true
      const [name] = isPlainObject(term) ? Object.keys(term) : []
      if (name === undefined) continue
      // The first term decides: few rows share its value.
      const through = naming.relation(name)
      const value = (term as Readonly<Record<string, unknown>>)[name]
      if (through !== undefined) return { relations: 1 + this.#relationsIn(through.naming, value) }
      const column = naming.column(name)
      if (column === undefined) continue
      return isIndexed(column, naming.table) ? undefined : { relations: 0 }
    }
    return undefined
  }

  /** The number of further relations on the path to the field that rows are sorted by. */
  #relationsIn(naming: RecordNames, term: unknown): number {
    if (term === unknownValue) this.#dependsOnVariables = true
    if (!isPlainObject(term)) return 0
    return Object.keys(term).reduce((sum, name) => {
      const through = naming.relation(name)
      return through === undefined ? sum : sum + 1 + this.#relationsIn(through.naming, term[name])
    }, 0)
  }

  #count(value: unknown): number {
    if (value === unknownValue) this.#dependsOnVariables = true
    return typeof value === 'number' && value > 0 ? value : 0
  }
}

/** The part of a pattern or a search that is read. Longer texts are refused, and a query may repeat one in each field. */
function readable(text: string): string {
  return text.slice(0, maxPatternLength)
}

/** The number of rows that share a value of an indexed column. */
function rowsPerValue(table: Table, column: Column, rows: number): number {
  return isUnique(column, table) ? Math.min(rows, 1) : rows / 100
}

function hasTrigramIndex(column: Column, { indexes }: Table): boolean {
  return indexes.some(
    ({ form, columns }) =>
      form?.like === true && form.where === undefined && columns.includes(column),
  )
}

/** Points for comparing one row. A path within JSON is searched like a text. */
function comparisonCost(operator: string): number {
  const name = operator === 'path' ? 'like' : (readOperator(operator) ?? 'eq')
  return weights.compared * operatorOf(name).cost
}

/** The comparisons that an operator with several values means: `between` is `gte` and `lte`. */
function meaningOf(operator: string): readonly string[] | undefined {
  const operatorName = readOperator(operator)
  return operatorName && operatorOf(operatorName).means
}

function combine(parts: readonly Work[], rows: number): Work {
  return {
    rows: parts.reduce((fewest, part) => Math.min(fewest, part.rows), rows),
    each: parts.reduce((sum, part) => sum + part.each, 0),
    once: parts.reduce((sum, part) => sum + part.once, 0),
  }
}

/** True unless the filter is empty: an empty filter reads no rows. */
function hasConditions(where: unknown): boolean {
  return isGiven(where) && !(isPlainObject(where) && Object.keys(where).length === 0)
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}
