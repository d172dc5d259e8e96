/**
 * Proves how many rows a statement looks at at most, from what it asks and from the table's declared indexes: rows by a unique
 * key, and ranges of an index that end with the page because the index serves the whole filter and the whole order. What
 * that does not bound, the table's size does, where it is known (`RowsOf`).
 *
 * ```
 * id = 5                                        1
 * categoryId = 5 order by price limit 20        20, by an index of (categoryId, price)
 * categoryId = 5 and note = 'x' limit 20        the table: rows with other notes are passed over
 * ```
 * Source: SQLite, The Query Optimizer Overview; Row Values.
 */
import type { Dialect } from '../engines/contract/engine.js'
import type { RowsOf } from '../engines/contract/statement.js'
import type { Column, TableIndex } from '../engines/contract/table.js'
import type { Condition } from './condition.js'
import { toNullPieces } from './null-pieces.js'
import { looksIntoText } from './operators.js'
import type { OrderTerm } from './order.js'
import { holdsAll, type SqlTable, type Tie } from './table.js'
import type { Limit, ObjectForm, PageEntry, Question, Related, Rows } from './tree.js'

/** Rows that are looked at, and by which indexes. */
export interface Looks {
  readonly rows: (values: readonly unknown[], rowsOf: RowsOf) => number
  /** The names of those that it may go by, besides keys. */
  readonly by: readonly string[]
}

type Counting = Looks['rows']

const unbounded: Looks = { rows: () => Infinity, by: [] }
const oneRow: Looks = { rows: () => 1, by: [] }
const none: Looks = { rows: () => 0, by: [] }

/** @param placeOf where the value of a slot stands among those that a statement gets */
export function looksOf(
  question: Question,
  dialect: Dialect,
  placeOf: (slot: number) => number,
): Looks {
  return new Prover(dialect, placeOf).question(question)
}

/** Rows of one table, and columns that are the same for all, because they are tied to the row outside. */
type Asked = Rows & { readonly tied?: readonly Column[] }

class Prover {
  readonly #dialect: Dialect
  readonly #placeOf: (slot: number) => number

  constructor(dialect: Dialect, placeOf: (slot: number) => number) {
    this.#dialect = dialect
    this.#placeOf = placeOf
  }

  question(question: Question): Looks {
    switch (question.ask) {
      case 'rows': {
        const { rows, related = [], most } = question
        const behind = this.#related(related)
        // Where they are counted before, all is looked at twice.
        return times(this.#rows(rows), most === undefined ? behind : plus(behind, behind))
      }
      case 'count': {
        const { rows, ends } = question
        if (ends === undefined) return this.#rows({ ...rows, order: { terms: [], key: '' } })
        const place = this.#placeOf(ends)
        return { rows: (values) => 2 * Number(values[place]), by: [] }
      }
      case 'behind': {
        const { tie, keys, isPacked, rows } = question
        const places = keys.map(this.#placeOf)
        const all = isPacked ? keysAt(places) : (): number => keys.length
        // Each list is looked for, and looked up then.
        const each = this.#behind(tie, { ...rows })
        return times({ rows: all, by: [] }, plus(oneRow, each, each))
      }
      case 'objects':
      case 'object':
        return times(this.#rows(question.rows), this.#form(question.form))
      case 'page': {
        const { rows, form, filter } = question
        const page = times(this.#rows(rows), this.#page(form))
        if (!hasTotal(form)) return page
        return plus(page, this.#rows({ table: rows.table, where: filter }))
      }
      case 'figures':
        return this.#rows({ ...question.rows, limit: undefined })
      case 'match':
        return this.#each([question.where]) ?? unbounded
    }
  }

  /** What an object's relations look at for a row, which is one itself. */
  #form(form: ObjectForm): Looks {
    const behind = form.flatMap((entry) => {
      if (entry.kind !== 'owner' && entry.kind !== 'list') return []
      const asked = entry.kind === 'list' ? entry.rows : { where: entry.where }
      return [times(this.#behind(entry.tie, asked), this.#form(entry.form))]
    })
    return behind.length === 0 ? oneRow : plus(oneRow, ...behind)
  }

  #page(entries: readonly PageEntry[]): Looks {
    return plus(
      oneRow,
      ...entries.flatMap((entry) => {
        if (entry.kind === 'node') return [this.#form(entry.form)]
        return entry.kind === 'edges' || entry.kind === 'pageInfo' ? [this.#page(entry.form)] : []
      }),
    )
  }

  #related(related: readonly Related[]): Looks {
    if (related.length === 0) return oneRow
    return plus(
      oneRow,
      ...related.map(({ tie, where, below }) =>
        times(this.#behind(tie, { where }), this.#related(below)),
      ),
    )
  }

  /** Rows of one table, with what their conditions look at behind relations. */
  #rows(asked: Asked): Looks {
    const { table, where, order, limit, distinct } = asked
    const pieces =
      order !== undefined && limit !== undefined && typeof limit === 'number'
        ? toNullPieces(table, order, where, this.#dialect)
        : undefined
    if (pieces !== undefined && order !== undefined && distinct === undefined) {
      const parts = pieces.map(({ condition, terms }) =>
        this.#range({ ...asked, where: condition, order: { ...order, terms } }),
      )
      return plus(...parts)
    }
    return this.#range(distinct === undefined ? asked : { ...asked, order: undefined })
  }

  #range(asked: Asked): Looks {
    const parts = partsOf(asked)
    const each = this.#each(parts.map(({ condition }) => condition))
    if (each === undefined) return unbounded
    const found = this.#byUnique(asked, parts) ?? this.#byOrder(asked, parts)
    const all = wholeTable(asked.table.name)
    return times(found === undefined ? all : least(found, all), each)
  }

  /** The rows behind a relation, for one row on this side. */
  #behind(tie: Tie, asked: Omit<Asked, 'table' | 'tied'>): Looks {
    const { target: table, join, foreign, shards } = tie
    if (join !== undefined) {
      // Pairs may lead to rows that the order or a filter passes over.
      const rows = this.#range({ ...asked, table, tied: [table.key], order: undefined })
      return times(wholeTable(join.name), plus(oneRow, rows))
    }
    const tied = shards === undefined ? [foreign] : [foreign, shards.foreign]
    return this.#rows({ ...asked, table, tied })
  }

  /** How many rows conditions look at for each row, itself among them; `undefined` where a text is searched. */
  #each(conditions: readonly Condition[]): Looks | undefined {
    const behind: Looks[] = []
    for (const condition of conditions) {
      const looks = this.#condition(condition)
      if (looks === undefined) return undefined
      if (looks !== none) behind.push(looks)
    }
    return behind.length === 0 ? oneRow : plus(oneRow, ...behind)
  }

  /** Rows of other tables; `undefined` where a text or a JSON value is looked into, however long it is. */
  #condition(condition: Condition): Looks | undefined {
    switch (condition.kind) {
      case 'all':
      case 'any': {
        const parts = condition.parts.map((part) => this.#condition(part))
        const known = parts.filter((part) => part !== undefined)
        if (known.length < parts.length) return undefined
        const found = known.filter((part) => part !== none)
        return found.length === 0 ? none : plus(...found)
      }
      case 'not':
        return this.#condition(condition.part)
      case 'related': {
        const { relation, part } = condition
        return this.#condition(part) === undefined
          ? undefined
          : this.#behind(relation, { where: part })
      }
      case 'search':
        return undefined
      case 'compare':
        return condition.at !== undefined || looksIntoText(condition.operator) ? undefined : none
      case 'list':
      case 'null':
        return none
    }
  }

  /** One row, or one for each key of a list. */
  #byUnique({ table, withDeleted }: Asked, parts: readonly Part[]): Looks | undefined {
    const same = sameOf(parts)
    for (const { columns, by } of uniques(table, withDeleted === true)) {
      const open = columns.filter((column) => !same.has(column))
      if (open.length === 0) return by.length === 0 ? oneRow : { rows: () => 1, by }
      const list = parts.find(({ as, column }) => as === 'list' && column === open[0])?.condition
      if (open.length > 1 || list?.kind !== 'list') continue
      return { rows: keysAt(list.slots.map(this.#placeOf)), by }
    }
    return undefined
  }

  /** A page that ends within the range of an index, because that serves every part and the order. */
  #byOrder({ table, order, limit, offset }: Asked, parts: readonly Part[]): Looks | undefined {
    if (order === undefined || order.rank !== undefined || limit === undefined) return undefined
    if (parts.some(({ as }) => as === 'test' || as === 'list')) return undefined
    const most = this.#count(limit)
    const passed = offset === undefined ? undefined : this.#count(offset)
    const rows: Counting = (values, rowsOf) =>
      most(values, rowsOf) + (passed === undefined ? 0 : passed(values, rowsOf))
    if (isServed(keySteps(table), order.terms, parts)) return { rows, by: [] }
    const by = table.indexes
      .filter((index) => holdsAll(index) && isServed(stepsOf(index, table), order.terms, parts))
      .map(({ name }) => name)
    return by.length === 0 ? undefined : { rows, by }
  }

  #count(given: Limit): Counting {
    if (typeof given !== 'number') return () => given.fixed
    const place = this.#placeOf(given)
    return (values) => Number(values[place])
  }
}

function hasTotal(entries: readonly PageEntry[]): boolean {
  return entries.some(
    (entry) =>
      (entry.kind === 'leaf' && entry.part === 'totalCount') ||
      ((entry.kind === 'edges' || entry.kind === 'pageInfo') && hasTotal(entry.form)),
  )
}

function keysAt(places: readonly number[]): Counting {
  return (values) => places.reduce((sum, place) => sum + lengthOf(values[place]), 0)
}

/** How many values a list has at most, in whatever form it travels. */
export function lengthOf(packed: unknown): number {
  if (Array.isArray(packed)) return packed.length
  // `[1,2]`: two signs for each value at least.
  return typeof packed === 'string' ? Math.ceil(packed.length / 2) : 1
}

function wholeTable(name: string): Looks {
  return { rows: (_values, rowsOf) => rowsOf(name), by: [] }
}

/** Both. */
function plus(...all: readonly Looks[]): Looks {
  return {
    rows: (values, rowsOf) => all.reduce((sum, { rows }) => sum + rows(values, rowsOf), 0),
    by: [...new Set(all.flatMap(({ by }) => by))],
  }
}

/** The second for each row of the first. */
function times(one: Looks, other: Looks): Looks {
  if (other === oneRow) return one
  return {
    rows: (values, rowsOf) => one.rows(values, rowsOf) * other.rows(values, rowsOf),
    by: [...new Set([...one.by, ...other.by])],
  }
}

/** So few rows that the size of the table need not be asked. */
const few = 200

/** What a page with an index looks at, or the whole table where that is less. */
function least(one: Looks, whole: Looks): Looks {
  const rows: Looks['rows'] = (values, rowsOf) => {
    const looked = one.rows(values, rowsOf)
    return looked <= few ? looked : Math.min(looked, whole.rows(values, rowsOf))
  }
  return { rows, by: one.by }
}

/** One of the conditions that must all hold, by what an index can make of it. */
interface Part {
  readonly condition: Condition
  readonly column?: Column | undefined
  /** `same`: one value; `list`: one of some values; `range`: beyond a value; otherwise each row must be looked at. */
  readonly as: 'same' | 'list' | 'range' | 'test'
}

function partsOf({ table, where, withDeleted, tied = [] }: Asked): Part[] {
  const parts = where === undefined ? [] : flat(where).map(toPart)
  for (const column of tied) parts.push({ condition: nothing, column, as: 'same' })
  const { deletedAt } = table
  if (deletedAt !== undefined && withDeleted !== true)
    parts.push({ condition: nothing, column: deletedAt, as: 'same' })
  return parts
}

/** Looks at nothing by itself. */
const nothing: Condition = { kind: 'all', parts: [] }

function flat(condition: Condition): Condition[] {
  return condition.kind === 'all' ? condition.parts.flatMap(flat) : [condition]
}

const ranges: ReadonlySet<string> = new Set(['lt', 'lte', 'gt', 'gte'])

function toPart(condition: Condition): Part {
  const { kind } = condition
  if (kind === 'list' && !condition.orNull)
    return { condition, column: condition.column, as: 'list' }
  if ((kind !== 'compare' && kind !== 'null') || condition.at !== undefined)
    return { condition, as: 'test' }
  const { column } = condition
  if (kind === 'null') return { condition, column, as: condition.isNull ? 'same' : 'range' }
  if (condition.operator === 'eq') return { condition, column, as: 'same' }
  return { condition, column, as: ranges.has(condition.operator) ? 'range' : 'test' }
}

function sameOf(parts: readonly Part[]): Set<Column | undefined> {
  return new Set(parts.filter(({ as }) => as === 'same').map(({ column }) => column))
}

interface Unique {
  readonly columns: readonly Column[]
  readonly by: readonly string[]
}

function uniques(table: SqlTable, withDeleted: boolean): Unique[] {
  const { key, shard, indexes, deletedAt } = table
  const keys = { columns: shard === undefined ? [key] : [shard, key], by: [] }
  // Values of rows that were softly deleted may come again.
  if (withDeleted && deletedAt !== undefined) return [keys]
  const found = indexes.filter(({ unique, form }) => unique && form?.where === undefined)
  return [keys, ...found.map(({ name, columns }) => ({ columns, by: [name] }))]
}

interface Step {
  readonly column: Column
  readonly descending: boolean
}

function keySteps({ key, shard }: SqlTable): Step[] {
  const columns = shard === undefined ? [key] : [shard, key]
  return columns.map((column) => ({ column, descending: false }))
}

/** An index's columns, then the key by which entries that are equal are sorted where it is the rows' number. */
function stepsOf(
  { columns, unique, form }: TableIndex,
  { key, shard, deletedAt }: SqlTable,
): Step[] {
  const steps = columns.map((column, place) => ({
    column,
    descending: form?.orders[place]?.descending === true,
  }))
  // A unique index holds the rows alone that are not softly deleted.
  if (unique && deletedAt !== undefined) steps.unshift({ column: deletedAt, descending: false })
  const isNumber = !key.isUuid && shard === undefined
  if (isNumber && !columns.includes(key)) steps.push({ column: key, descending: false })
  return steps
}

function isServed(
  steps: readonly Step[],
  terms: readonly OrderTerm[],
  parts: readonly Part[],
): boolean {
  const same = new Set(parts.filter(({ as }) => as === 'same').map(({ column }) => column))
  let place = 0
  while (place < steps.length && same.delete((steps[place] as Step).column)) place++
  // What the index does not begin with is tested row by row.
  if (same.size > 0) return false
  const first = steps[place]?.column
  if (parts.some(({ as, column }) => as === 'range' && column !== first)) return false
  return follows(steps.slice(place), terms, parts)
}

function follows(
  steps: readonly Step[],
  terms: readonly OrderTerm[],
  parts: readonly Part[],
): boolean {
  const fixed = new Set(parts.filter(({ as }) => as === 'same').map(({ column }) => column?.name))
  // A list in two parts has a column of its own for each.
  const wanted = terms.filter(({ column }) => !fixed.has(column.name))
  const [first] = wanted
  const isReversed = first !== undefined && first.descending !== (steps[0]?.descending ?? false)
  return wanted.every(({ column, descending, nullsFirst }, place) => {
    const step = steps[place]
    // Nulls are the smallest values; the other way round one column can be read, the first.
    const isNatural = !column.nullable || nullsFirst === !descending || place === 0
    return (
      step?.column.name === column.name &&
      isNatural &&
      descending === (step.descending !== isReversed)
    )
  })
}
