/** Writes a page as one JSON text: its rows and one more, to know whether there is a next page. */
import { join, name, raw, slot, sql, type Sql } from '../engines/contract/sql-text.js'
import type { Column } from '../engines/contract/table.js'
import { isDerived } from './derived.js'
import { neededColumns, type ObjectWriter } from './objects.js'
import { reversed, writeOrder, type OrderTerm } from './order.js'
import type { RowsWriter } from './rows.js'
import type { PageEntry, PageQuestion } from './tree.js'
import { ref } from './writing.js'

const rowsName = 'filigree_page'

type Leaf = Extract<PageEntry, { kind: 'leaf' }>['part']

export class PageWriter {
  readonly #question: PageQuestion
  readonly #writer: RowsWriter
  readonly #objects: ObjectWriter

  constructor(question: PageQuestion, writer: RowsWriter, objects: ObjectWriter) {
    this.#question = question
    this.#writer = writer
    this.#objects = objects
  }

  write(): Sql {
    const { rows, order, form } = this.#question
    const columns = new Set(order.terms.map(({ column }) => column))
    addNeeded(form, columns)
    const alias = this.#writer.writing.alias()
    const named = [...columns].map((column) =>
      isDerived(column)
        ? sql`${this.#writer.conditions.value(alias, column)} as ${name(column.name)}`
        : ref(alias, column),
    )
    const found = this.#writer.select(rows, alias, join(named))
    return sql`with ${name(rowsName)} as (${found}) select ${this.#objects.json.whole(this.#object(form))}`
  }

  #object(form: readonly PageEntry[], alias?: string, joins?: Sql[]): Sql {
    return this.#objects.json.object(
      form.map((entry): [string, Sql] => [entry.key, this.#entry(entry, alias, joins)]),
    )
  }

  /** @param alias stands for the row of an edge; `undefined` outside edges */
  #entry(entry: PageEntry, alias = '', joins: Sql[] = []): Sql {
    const { json } = this.#objects
    switch (entry.kind) {
      case 'name':
        return json.text(entry.name)
      case 'leaf':
        return this.#leaf(entry.part, alias)
      case 'pageInfo':
        return this.#object(entry.form)
      case 'node':
        return this.#objects.object(entry.form, alias, joins)
      case 'edges': {
        const row = this.#writer.writing.alias()
        const behind: Sql[] = []
        const edges = json.aggregate(this.#object(entry.form, row, behind))
        return json.nested(
          sql`select ${edges} from (${this.#chosen(row)}) as ${name(row)}${join(behind, '')}`,
        )
      }
    }
  }

  #leaf(part: Leaf, alias: string): Sql {
    const { json } = this.#objects
    const { filter, isBackward, order, rows, most, isLater } = this.#question
    switch (part) {
      case 'cursor':
        return this.#cursor(alias)
      case 'totalCount': {
        const all = { table: rows.table, where: filter }
        return json.count(sql`(${this.#writer.count({ ask: 'count', rows: all })})`)
      }
      case 'startCursor':
        return this.#cursorOf(order.terms)
      case 'endCursor':
        return this.#cursorOf(reversed(order.terms))
      default: {
        // Behind the page, in the order of its reading, or before it.
        const goesOn = (part === 'hasPreviousPage') === isBackward
        return json.boolean(
          goesOn
            ? sql`(select count(*) from ${name(rowsName)}) > ${slot(most)}`
            : raw(isLater ? '1 = 1' : '1 = 0'),
        )
      }
    }
  }

  /** The cursor of the page's first row in an order. */
  #cursorOf(terms: readonly OrderTerm[]): Sql {
    const alias = this.#writer.writing.alias()
    return this.#objects.json.optional(
      sql`(select ${this.#cursor(alias)} as filigree_cursor from (${this.#chosen(alias)}) as ${name(alias)}${writeOrder(terms, alias)} limit 1)`,
    )
  }

  /** The page's rows without the one more, in the page's order. */
  #chosen(alias: string): Sql {
    const { order, rows, most, isBackward } = this.#question
    const row = name(alias)
    const chosen = sql`select * from ${name(rowsName)} as ${row}${writeOrder(rows.order.terms, alias)}${this.#writer.writing.limit(most)}`
    return isBackward
      ? sql`select * from (${chosen}) as ${row}${writeOrder(order.terms, alias)}`
      : chosen
  }

  #cursor(alias: string): Sql {
    const { terms, key } = this.#question.order
    const values = terms.map(({ column }) => ({ column, value: ref(alias, column) }))
    // A cursor says for which order it was made.
    return this.#objects.json.cursor(key, values)
  }
}

function addNeeded(form: readonly PageEntry[], columns: Set<Column>): void {
  for (const entry of form) {
    if (entry.kind === 'edges') addNeeded(entry.form, columns)
    else if (entry.kind === 'node')
      for (const column of neededColumns(entry.form)) columns.add(column)
  }
}
