/** Writes pages of lists as one JSON text, built by the database. Source: GraphQL Cursor Connections Specification. */

import { join, name, raw, slot, sql, type Sql } from '../engines/contract/sql-text.js'
import type { Column } from '../engines/contract/table.js'
import { isDerived } from './derived.js'
import { reversed, writeOrder, type OrderTerm } from './order.js'
import type { RowWriter } from './row-writer.js'
import { columnsIn, type ObjectWriter } from './selection-writer.js'
import type { PageEntry, PageQuery } from './tree.js'
import { ref } from './write-context.js'

/** The common table expression with the rows of a page. */
const pageName = 'filigree_page'

type Leaf = Extract<PageEntry, { kind: 'leaf' }>['part']

/** Writes a page. It reads one row more than the page has, to know whether there is a next page. */
export class PageWriter {
  readonly #query: PageQuery
  readonly #writer: RowWriter
  readonly #objects: ObjectWriter

  constructor(query: PageQuery, writer: RowWriter, objects: ObjectWriter) {
    this.#query = query
    this.#writer = writer
    this.#objects = objects
  }

  write(): Sql {
    const { rows, order, entries } = this.#query
    const columns = new Set(order.terms.map(({ column }) => column))
    addNeeded(entries, columns)
    const alias = this.#writer.context.aliasOf(rows)
    const selectedColumns = [...columns].map((column) =>
      isDerived(column)
        ? sql`${this.#writer.conditions.value(alias, column)} as ${name(column.name)}`
        : ref(alias, column),
    )
    const rowsQuery = this.#writer.select(rows, alias, join(selectedColumns))
    return sql`with ${name(pageName)} as (${rowsQuery}) select ${this.#objects.json.objectResult(this.#object(entries))}`
  }

  #object(entries: readonly PageEntry[], alias?: string, joins?: Sql[]): Sql {
    return this.#objects.json.object(
      entries.map((entry): [string, Sql] => [entry.key, this.#entry(entry, alias, joins)]),
    )
  }

  /** @param alias the alias of an edge's row, `undefined` outside edges */
  #entry(entry: PageEntry, alias = '', joins: Sql[] = []): Sql {
    const { json } = this.#objects
    switch (entry.kind) {
      case 'name':
        return json.text(entry.name)
      case 'leaf':
        return this.#leaf(entry.part, alias)
      case 'pageInfo':
        return this.#object(entry.entries)
      case 'node':
        return this.#objects.object(entry.selection, alias, joins)
      case 'edges': {
        const row = this.#writer.context.aliasOf(this.#query.rows)
        const edgeJoins: Sql[] = []
        const edges = json.aggregate(this.#object(entry.entries, row, edgeJoins))
        return json.nested(
          sql`select ${edges} from (${this.#pageRows(row)}) as ${name(row)}${join(edgeJoins, '')}`,
        )
      }
    }
  }

  #leaf(part: Leaf, alias: string): Sql {
    const { json } = this.#objects
    const { filter, isBackward, order, rows, pageSize, hasEarlierRows } = this.#query
    switch (part) {
      case 'cursor':
        return this.#cursor(alias)
      case 'totalCount': {
        const all = { table: rows.table, where: filter }
        return json.count(sql`(${this.#writer.count({ query: 'count', rows: all })})`)
      }
      case 'startCursor':
        return this.#cursorOf(order.terms)
      case 'endCursor':
        return this.#cursorOf(reversed(order.terms))
      default: {
        // In the reading direction the extra row decides, in the other direction the cursor.
        const isReadingDirection = (part === 'hasPreviousPage') === isBackward
        return json.boolean(
          isReadingDirection
            ? sql`(select count(*) from ${name(pageName)}) > ${slot(pageSize)}`
            : raw(hasEarlierRows ? '1 = 1' : '1 = 0'),
        )
      }
    }
  }

  /** The cursor of the first row of the page in the order. */
  #cursorOf(terms: readonly OrderTerm[]): Sql {
    const alias = this.#writer.context.alias()
    return this.#objects.json.optional(
      sql`(select ${this.#cursor(alias)} as filigree_cursor from (${this.#pageRows(alias)}) as ${name(alias)}${this.#order(terms, alias)} limit 1)`,
    )
  }

  /** The rows of the page without the extra row, in the order of the page. */
  #pageRows(alias: string): Sql {
    const { order, rows, pageSize, isBackward } = this.#query
    const row = name(alias)
    const page = sql`select * from ${name(pageName)} as ${row}${this.#order(rows.order.terms, alias)}${this.#writer.context.limit(pageSize)}`
    return isBackward
      ? sql`select * from (${page}) as ${row}${this.#order(order.terms, alias)}`
      : page
  }

  /** Derived values are columns of the page. */
  #order(terms: readonly OrderTerm[], alias: string): Sql | undefined {
    return writeOrder(terms, alias, undefined, (of, column) =>
      isDerived(column) ? ref(of, column) : this.#writer.context.comparable(of, column),
    )
  }

  #cursor(alias: string): Sql {
    const { terms, key } = this.#query.order
    const values = terms.map(({ column }) => ({ column, value: ref(alias, column) }))
    // A cursor contains the order that it belongs to.
    return this.#objects.json.cursor(key, values)
  }
}

function addNeeded(entries: readonly PageEntry[], columns: Set<Column>): void {
  for (const entry of entries) {
    if (entry.kind === 'edges') addNeeded(entry.entries, columns)
    else if (entry.kind === 'node')
      for (const column of columnsIn(entry.selection)) columns.add(column)
  }
}
