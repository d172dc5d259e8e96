/**
 * Writes queries whose result is one JSON text, built by the database: a list of objects, one object, or a page of a list.
 * Related rows are read by joins and subqueries.
 */

import { join, name, raw, slot, sql, type Sql } from '../engines/contract/sql-text.js'
import type { Column } from '../engines/contract/table.js'
import { type SqlTable } from './table.js'
import { isDerived, type RelationStep } from './derived.js'
import { reversed, writeOrder, type OrderTerm } from './order.js'
import { type RowWriter, columnsOf } from './row-writer.js'
import type { PageEntry, PageQuery, ObjectEntry, ObjectForm, ObjectsQuery } from './tree.js'
import { ref } from './write-context.js'
import type { JsonSql } from '../engines/contract/json-sql.js'

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
    const { rows, order, form } = this.#query
    const columns = new Set(order.terms.map(({ column }) => column))
    addNeeded(form, columns)
    const alias = this.#writer.context.alias()
    const selectedColumns = [...columns].map((column) =>
      isDerived(column)
        ? sql`${this.#writer.conditions.value(alias, column)} as ${name(column.name)}`
        : ref(alias, column),
    )
    const rowsQuery = this.#writer.select(rows, alias, join(selectedColumns))
    return sql`with ${name(pageName)} as (${rowsQuery}) select ${this.#objects.json.objectResult(this.#object(form))}`
  }

  #object(form: readonly PageEntry[], alias?: string, joins?: Sql[]): Sql {
    return this.#objects.json.object(
      form.map((entry): [string, Sql] => [entry.key, this.#entry(entry, alias, joins)]),
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
        return this.#object(entry.form)
      case 'node':
        return this.#objects.object(entry.form, alias, joins)
      case 'edges': {
        const row = this.#writer.context.alias()
        const edgeJoins: Sql[] = []
        const edges = json.aggregate(this.#object(entry.form, row, edgeJoins))
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

function addNeeded(form: readonly PageEntry[], columns: Set<Column>): void {
  for (const entry of form) {
    if (entry.kind === 'edges') addNeeded(entry.form, columns)
    else if (entry.kind === 'node')
      for (const column of neededColumns(entry.form)) columns.add(column)
  }
}

/** Writes rows as JSON objects. */
export class ObjectWriter {
  readonly json: JsonSql
  readonly #writer: RowWriter

  constructor(writer: RowWriter) {
    this.#writer = writer
    this.json = writer.context.dialect.json.createWriter(writer.context.dialect)
  }

  /** `select [{…}, {…}]`, or `select {…}` for one row. */
  write({ query, rows, form }: ObjectsQuery): Sql {
    const { context } = this.#writer
    const alias = context.alias()
    const joins: Sql[] = []
    const objectSql = this.object(form, alias, joins)
    if (query === 'objects')
      return sql`select ${this.json.all(objectSql)} from ${this.#selectColumns(rows.table, form, alias, (columns) => this.#writer.select(rows, alias, columns))}${join(joins, '')}`
    const where = this.#writer.where(rows, alias)
    return sql`select ${objectSql} from ${context.table(rows.table.name, alias)}${join(joins, '')}${where}`
  }

  /**
   * `{"id": …, "category": …}` of the alias's row.
   *
   * @param joins receives the joins that have to follow the table of the alias
   */
  object(form: ObjectForm, alias: string, joins: Sql[]): Sql {
    return this.json.object(
      form.map((entry): [string, Sql] => [entry.key, this.#entry(entry, alias, joins)]),
    )
  }

  #entry(entry: ObjectEntry, alias: string, joins: Sql[]): Sql {
    switch (entry.kind) {
      case 'name':
        return this.json.text(entry.name)
      case 'column':
        return this.json.value(entry.field, ref(alias, entry.field.column))
      case 'owner':
        return this.#owner(entry, alias, joins)
      case 'count':
        return this.json.count(this.#writer.conditions.derived(alias, entry.derived))
      case 'list':
        return this.#list(entry, alias)
    }
  }

  #owner(
    { relation, form, where }: Extract<ObjectEntry, { kind: 'owner' }>,
    outer: string,
    joins: Sql[],
  ): Sql {
    const { context } = this.#writer
    const { target, foreign } = relation
    const { owners } = context.dialect.statements
    const alias = context.alias()
    const key = ref(alias, foreign)
    if (owners.join === 'left' && joins.length < owners.maxTables) {
      const joinCondition = this.#writer.filter({ table: target, where }, alias, {
        condition: context.isRelated(relation, key, alias, outer),
      })
      joins.push(sql` left join ${context.table(target.name, alias)} on ${joinCondition}`)
      return sql`case when ${key} is not null then ${this.object(form, alias, joins)} end`
    }
    const inner: Sql[] = []
    const objectSql = this.object(form, alias, inner)
    const isLast = joins.length >= owners.maxTables
    const value = isLast ? objectSql : sql`${objectSql} as filigree_owner`
    const condition = context.isRelated(relation, key, alias, outer)
    const rowsQuery = sql`select ${value} from ${context.table(target.name, alias)}${join(inner, '')}${this.#writer.where({ table: target, where }, alias, { condition })}`
    if (isLast) return this.json.optional(this.json.nested(rowsQuery))
    // The limit forces a nested loop. Other kinds of joins may change the order of the rows.
    const owner = `${alias}o`
    joins.push(sql` left join lateral (${rowsQuery} limit 1) as ${name(owner)} on true`)
    return this.json.optional(name(owner, 'filigree_owner'))
  }

  #list({ relation, form, rows }: Extract<ObjectEntry, { kind: 'list' }>, outer: string): Sql {
    const { target } = relation
    const alias = this.#writer.context.alias()
    const joins: Sql[] = []
    const objectSql = this.object(form, alias, joins)
    const rowsQuery = this.#selectColumns(target, form, alias, (columns) =>
      this.#writer.select({ ...rows, table: target }, alias, columns, {
        relation,
        alias: outer,
      }),
    )
    return this.json.nested(
      sql`select ${this.json.aggregate(objectSql)} from ${rowsQuery}${join(joins, '')}`,
    )
  }

  /** A subquery of the rows with the columns that the object needs. */
  #selectColumns(
    table: SqlTable,
    form: ObjectForm,
    alias: string,
    select: (columns: Sql) => Sql,
  ): Sql {
    const selected = neededColumns(form)
    const columns = selected.size === 0 ? [table.key] : [...selected]
    return sql`(${select(columnsOf(columns, alias))}) as ${name(alias)}`
  }
}

/** The columns that an object needs. */
function neededColumns(form: ObjectForm): Set<Column> {
  const columns = new Set<Column>()
  for (const entry of form) {
    if (entry.kind === 'name') continue
    if (entry.kind === 'column') columns.add(entry.field.column)
    else {
      const relation =
        entry.kind === 'count' ? (entry.derived.path[0] as RelationStep).relation : entry.relation
      const { local, shards } = relation
      columns.add(local)
      if (shards !== undefined) columns.add(shards.local)
    }
  }
  return columns
}
