/**
 * Proves how many rows a statement looks at at most, with all that is nested in it, from what it asks and from the tables'
 * declared indexes (`range-proof.ts`). What those do not bound, the table's size does, where it is known (`RowsOf`).
 *
 * ```
 * id = 5                                        1
 * categoryId = 5 order by price limit 20        20, by an index of (categoryId, price)
 * categoryId = 5 and note = 'x' limit 20        the table: rows with other notes are passed over
 * ```
 */
import type { Dialect } from '../engines/contract/dialect.js'
import type { Column } from '../engines/contract/table.js'
import type { Condition } from './condition.js'
import { derivedColumnsOf, isDerived, type Derived } from './derived.js'
import {
  keysAt,
  least,
  none,
  oneRow,
  plus,
  times,
  unbounded,
  wholeTable,
  type Looks,
} from './looks.js'
import { toNullPieces } from './null-pieces.js'
import { looksIntoText } from './operators.js'
import { byIndex, partsOf, type Asked, type PlaceOf } from './range-proof.js'
import { formOf } from './related-form.js'
import type { Tie } from './table.js'
import type { ObjectForm, PageEntry, Question, Related } from './tree.js'

/** @param placeOf where the value of a slot stands among those that a statement gets */
export function looksOf(question: Question, dialect: Dialect, placeOf: PlaceOf): Looks {
  return new Prover(dialect, placeOf).question(question)
}

class Prover {
  readonly #dialect: Dialect
  readonly #placeOf: PlaceOf
  /** What is found once, whatever the number of rows: lists of keys. */
  readonly #once: Looks[] = []

  constructor(dialect: Dialect, placeOf: PlaceOf) {
    this.#dialect = dialect
    this.#placeOf = placeOf
  }

  question(question: Question): Looks {
    const looks = this.#question(question)
    return this.#once.length === 0 ? looks : plus(looks, ...this.#once)
  }

  #question(question: Question): Looks {
    switch (question.ask) {
      case 'rows': {
        const { rows, derived = [], related = [], most } = question
        const behind = plus(this.#related(related), ...derived.map((one) => this.#derived(one)))
        // Where they are counted before, all is looked at twice.
        return times(this.#rows(rows), most === undefined ? behind : plus(behind, behind))
      }
      case 'count': {
        const { rows, ends } = question
        if (ends === undefined) return this.#rows({ ...rows, order: { terms: [], key: '' } })
        // Of each row the conditions are asked: a search looks at all of its matches before the first.
        const each = this.#each(rows.where === undefined ? [] : [rows.where])
        if (each === undefined) return unbounded
        const place = this.#placeOf(ends)
        return times({ rows: (values) => 2 * Number(values[place]), by: [] }, each)
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
      if (entry.kind === 'count') return [this.#derived(entry.derived)]
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
    const found = this.#ordered(asked)
    const { order } = asked
    const behind = order === undefined ? [] : derivedColumnsOf(order)
    if (behind.length === 0) return found
    return times(found, plus(oneRow, ...behind.map(({ derived }) => this.#derived(derived))))
  }

  #ordered(asked: Asked): Looks {
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
    const found = byIndex(asked, parts, this.#placeOf)
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

  /** The rows that a value from other tables is read from, for one row on this side. */
  #derived({ path: [step, ...further], of }: Derived): Looks {
    if (step === undefined) return oneRow
    const { tie, where } = step
    return times(this.#behind(tie, { where }), this.#derived({ path: further, of }))
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
        if (this.#condition(part) === undefined) return undefined
        if (formOf(condition, this.#dialect) !== 'exists')
          this.#once.push(this.#range({ table: relation.target, where: part }))
        return this.#behind(relation, { where: part })
      }
      case 'search':
        return undefined
      case 'compare':
        if (condition.at !== undefined || looksIntoText(condition.operator)) return undefined
        return this.#column(condition.column)
      case 'list':
      case 'null':
        return this.#column(condition.column)
    }
  }

  /** What a column's value is read from besides its row. */
  #column(column: Column): Looks {
    return isDerived(column) ? this.#derived(column.derived) : none
  }
}

function hasTotal(entries: readonly PageEntry[]): boolean {
  return entries.some(
    (entry) =>
      (entry.kind === 'leaf' && entry.part === 'totalCount') ||
      ((entry.kind === 'edges' || entry.kind === 'pageInfo') && hasTotal(entry.form)),
  )
}
