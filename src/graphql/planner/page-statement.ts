/** Writes the statement of a page: its rows and one more, to know whether there is a next page. */
import { Slot } from '../../records/statements/builder.js'
import { writeOrder, type OrderTerm } from '../../records/filters/order.js'
import type { RecordModel } from '../records/model.js'
import { reversedTerm, type PageQuestion } from '../records/page-question.js'
import { cursorSignature } from '../../records/filters/cursor.js'
import type { Fragment } from '../../engines/contract/json-sql.js'
import type { PageEntry } from './selection.js'
import { neededColumns, type StatementWriter } from './statement-writer.js'

/** What a run asks of a page. */
export interface PlannedPage extends Omit<PageQuestion, 'count'> {
  /** How many rows, as a place among the values; and that of one more. */
  readonly most: number
  readonly oneMore: number
}

const rowsName = 'filigree_page'
const cursorName = 'filigree_cursor'

export function writePage(
  model: RecordModel,
  entries: readonly PageEntry[],
  question: PlannedPage,
  writer: StatementWriter,
): Fragment {
  return new PageWriter(model, question, writer).write(entries)
}

class PageWriter {
  readonly #model: RecordModel
  readonly #question: PlannedPage
  readonly #writer: StatementWriter

  constructor(model: RecordModel, question: PlannedPage, writer: StatementWriter) {
    this.#model = model
    this.#question = question
    this.#writer = writer
  }

  write(entries: readonly PageEntry[]): Fragment {
    const { sql } = this.#writer.filters
    const { table } = this.#model
    const { condition, order, reading, oneMore } = this.#question
    const alias = this.#writer.alias()
    const columns = new Set(order.terms.map(({ column }) => column))
    forEachNode(entries, (node) => {
      for (const column of neededColumns(node.object)) columns.add(column)
    })
    const rows = this.#writer.rows(
      table,
      columns,
      { condition, order: reading, limit: oneMore, offset: undefined },
      alias,
    )
    const page = this.#writer.json.whole(this.#object(entries))
    return sql`with ${sql.id(rowsName)} as (${rows}) select ${page}`
  }

  #object(entries: readonly PageEntry[]): Fragment {
    return this.#writer.json.object(
      entries.map((entry): [string, Fragment] => [entry.key, this.#entry(entry)]),
    )
  }

  #entry(entry: PageEntry): Fragment {
    const { sql } = this.#writer.filters
    if (entry.kind === 'typename') return this.#writer.json.text(entry.name)
    if (entry.kind === 'leaf') return this.#leaf(entry.part)
    if (entry.kind === 'node') throw new TypeError('A node stands in an edge.')
    if (entry.part === 'pageInfo') return this.#object(entry.entries)
    const alias = this.#writer.alias()
    const joins: Fragment[] = []
    const edge = this.#writer.json.object(
      entry.entries.map((one): [string, Fragment] => [one.key, this.#edgeEntry(one, alias, joins)]),
    )
    const { json } = this.#writer
    return json.nested(
      sql`select ${json.aggregate(edge)} from (${this.#chosen(alias)}) as ${sql.id(alias)}${sql.join(joins, sql``)}`,
    )
  }

  #edgeEntry(entry: PageEntry, alias: string, joins: Fragment[]): Fragment {
    if (entry.kind === 'typename') return this.#writer.json.text(entry.name)
    if (entry.kind === 'node') return this.#writer.object(entry.object, alias, joins)
    return this.#cursor(alias)
  }

  #leaf(part: Extract<PageEntry, { kind: 'leaf' }>['part']): Fragment {
    const { sql } = this.#writer.filters
    const { json } = this.#writer
    const { filter, isBackward, order } = this.#question
    switch (part) {
      case 'totalCount':
        return json.count(sql`(${this.#writer.count(this.#model.table, filter)})`)
      case 'hasNextPage':
        return isBackward ? this.#isLater() : this.#goesOn()
      case 'hasPreviousPage':
        return isBackward ? this.#goesOn() : this.#isLater()
      case 'startCursor':
        return this.#cursorOf(order.terms)
      default:
        return this.#cursorOf(order.terms.map(reversedTerm))
    }
  }

  /** Behind the page, in the order of its reading. */
  #goesOn(): Fragment {
    const { sql } = this.#writer.filters
    const { most } = this.#question
    return this.#writer.json.boolean(
      sql`(select count(*) from ${sql.id(rowsName)}) > ${new Slot(most)}`,
    )
  }

  #isLater(): Fragment {
    const { sql } = this.#writer.filters
    return this.#writer.json.boolean(this.#question.isLater ? sql`1 = 1` : sql`1 = 0`)
  }

  /** The cursor of the page's first row in an order. */
  #cursorOf(terms: readonly OrderTerm[]): Fragment {
    const { sql } = this.#writer.filters
    const alias = this.#writer.alias()
    const by = writeOrder(terms, this.#writer.filters, alias)
    const cursor = sql`(select ${this.#cursor(alias)} as ${sql.id(cursorName)} from (${this.#chosen(alias)}) as ${sql.id(alias)} order by ${by} limit 1)`
    return this.#writer.json.optional(cursor)
  }

  /** The page's rows without the one more, in the page's order. */
  #chosen(alias: string): Fragment {
    const { filters } = this.#writer
    const { sql } = filters
    const { order, reading, most, isBackward } = this.#question
    const by = writeOrder(reading.terms, filters, alias)
    const chosen = sql`select * from ${sql.id(rowsName)} as ${sql.id(alias)} order by ${by}${filters.limit(most)}`
    if (!isBackward) return chosen
    return sql`select * from (${chosen}) as ${sql.id(alias)} order by ${writeOrder(order.terms, filters, alias)}`
  }

  #cursor(alias: string): Fragment {
    const { json, filters } = this.#writer
    const { order } = this.#question
    const values = order.terms.map(({ column }) => ({ column, value: filters.ref(alias, column) }))
    return json.cursor(cursorSignature(order), values)
  }
}

function forEachNode(
  entries: readonly PageEntry[],
  visit: (node: Extract<PageEntry, { kind: 'node' }>) => void,
): void {
  for (const entry of entries) {
    if (entry.kind === 'node') visit(entry)
    else if (entry.kind === 'group') forEachNode(entry.entries, visit)
  }
}
