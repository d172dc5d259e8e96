/**
 * Writes rows as one JSON text: an object a row, rows of relations by subqueries, every list limited before anything is
 * gathered.
 */
import type { JsonSql } from '../engines/contract/json-sql.js'
import { join, name, sql, type Sql } from '../engines/contract/sql-text.js'
import type { Column } from '../engines/contract/table.js'
import type { Step } from './derived.js'
import { columnsOf, type RowsWriter } from './rows.js'
import type { SqlTable } from './table.js'
import type { ObjectEntry, ObjectForm, ObjectsQuestion } from './tree.js'
import { ref } from './writing.js'

export class ObjectWriter {
  readonly json: JsonSql
  readonly #writer: RowsWriter

  constructor(writer: RowsWriter) {
    this.#writer = writer
    this.json = writer.writing.dialect.json()
  }

  /** `select [{…}, {…}]`, in one column or more; or the `{…}` of the one row that is found. */
  write({ ask, rows, form }: ObjectsQuestion): Sql {
    const { writing } = this.#writer
    const alias = writing.alias()
    const joins: Sql[] = []
    const written = this.object(form, alias, joins)
    if (ask === 'objects')
      return sql`select ${this.json.all(written)} from ${this.#gathered(rows.table, form, alias, (columns) => this.#writer.select(rows, alias, columns))}${join(joins, '')}`
    const where = this.#writer.where(rows, alias)
    return sql`select ${written} from ${writing.table(rows.table.name, alias)}${join(joins, '')}${where}`
  }

  /**
   * `{"id": …, "category": …}` of the row that the alias stands for.
   *
   * @param joins gets what has to follow that row's table
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
    { tie, form, where }: Extract<ObjectEntry, { kind: 'owner' }>,
    outer: string,
    joins: Sql[],
  ): Sql {
    const { writing } = this.#writer
    const { target, foreign } = tie
    const { owners } = writing.dialect
    const alias = writing.alias()
    const key = ref(alias, foreign)
    if (owners.join === 'left' && joins.length < owners.most) {
      const isMine = this.#writer.tests({ table: target, where }, alias, {
        isTest: writing.isTied(tie, key, alias, outer),
      })
      joins.push(sql` left join ${writing.table(target.name, alias)} on ${isMine}`)
      return sql`case when ${key} is not null then ${this.object(form, alias, joins)} end`
    }
    const inner: Sql[] = []
    const written = this.object(form, alias, inner)
    const isLast = joins.length >= owners.most
    const value = isLast ? written : sql`${written} as filigree_owner`
    const isTest = writing.isTied(tie, key, alias, outer)
    const found = sql`select ${value} from ${writing.table(target.name, alias)}${join(inner, '')}${this.#writer.where({ table: target, where }, alias, { isTest })}`
    if (isLast) return this.json.optional(this.json.nested(found))
    // The limit keeps it a row by row matter: another kind of join might lose the order of the rows.
    const owner = `${alias}o`
    joins.push(sql` left join lateral (${found} limit 1) as ${name(owner)} on true`)
    return this.json.optional(name(owner, 'filigree_owner'))
  }

  #list({ tie, form, rows }: Extract<ObjectEntry, { kind: 'list' }>, outer: string): Sql {
    const { target } = tie
    const alias = this.#writer.writing.alias()
    const joins: Sql[] = []
    const written = this.object(form, alias, joins)
    const found = this.#gathered(target, form, alias, (columns) =>
      this.#writer.select({ ...rows, table: target }, alias, columns, { tie, outer }),
    )
    return this.json.nested(
      sql`select ${this.json.aggregate(written)} from ${found}${join(joins, '')}`,
    )
  }

  /** The rows under their alias, with the columns that an object is written from. */
  #gathered(table: SqlTable, form: ObjectForm, alias: string, select: (columns: Sql) => Sql): Sql {
    const needed = neededColumns(form)
    const columns = needed.size === 0 ? [table.key] : [...needed]
    return sql`(${select(columnsOf(columns, alias))}) as ${name(alias)}`
  }
}

/** The columns that an object is written from, each once. */
export function neededColumns(form: ObjectForm): Set<Column> {
  const columns = new Set<Column>()
  for (const entry of form) {
    if (entry.kind === 'name') continue
    if (entry.kind === 'column') columns.add(entry.field.column)
    else {
      const tie = entry.kind === 'count' ? (entry.derived.path[0] as Step).tie : entry.tie
      const { local, shards } = tie
      columns.add(local)
      if (shards !== undefined) columns.add(shards.local)
    }
  }
  return columns
}
