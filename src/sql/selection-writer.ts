/**
 * Writes what a query selects of each row, with related rows on any level in the same statement: rows for records, whose related
 * rows are columns of JSON lists, or JSON objects with the selected keys. Related rows are read by joins and subqueries.
 */
import type { JsonField, JsonSql } from '../engines/contract/json-sql.js'
import { join, name, raw, sql, wrap, type Sql } from '../engines/contract/sql-text.js'
import { hasKey, storedColumnsOf, type Column } from '../engines/contract/table.js'
import { keyColumns } from './key-columns.js'
import type { Derived, RelationStep } from './derived.js'
import { byKey } from './order.js'
import { columnsOf, returnedColumns, storedValues, RowWriter } from './row-writer.js'
import type { SqlRelation, SqlTable } from './table.js'
import type {
  ObjectsQuery,
  RelationValue,
  Rows,
  RowsQuery,
  SelectedValue,
  Selection,
} from './tree.js'
import { ref } from './write-context.js'

/** Some engines limit functions to a hundred arguments. */
const maxArguments = 45

/** Reads related rows as JSON. The outputs differ in the JSON of a row. */
abstract class SelectionWriter {
  protected readonly writer: RowWriter

  constructor(writer: RowWriter) {
    this.writer = writer
  }

  /**
   * The JSON of the alias's row.
   *
   * @param joins receives the joins that have to follow the table of the alias
   */
  protected abstract rowJson(
    table: SqlTable,
    selection: Selection,
    alias: string,
    joins: Sql[],
  ): Sql

  /** The JSON list of all rows. */
  protected abstract listJson(row: Sql): Sql

  /** The columns that the JSON of a row needs. */
  protected abstract neededColumns(table: SqlTable, selection: Selection): readonly Column[]

  /** `select {…} from "category" … where …`: the row that the row of another alias belongs to. */
  protected selectOne(
    { relation, rows, selection }: RelationValue,
    outer: string,
    { alias, columnName }: { readonly alias: string; readonly columnName?: Sql },
  ): Sql {
    const { context } = this.writer
    const { target } = relation
    const joins: Sql[] = []
    const row = this.rowJson(target, selection, alias, joins)
    const { from, matchColumns } = context.joinTarget(relation, alias)
    const condition = context.isRelated(relation, matchColumns, alias, outer)
    const where = this.writer.where({ table: target, where: rows.where }, alias, { condition })
    return sql`select ${row}${columnName} from ${from}${join(joins, '')}${where}`
  }

  /** `select [{…}, {…}] from (select … from "product" … order by …)`: the related rows of the row of another alias. */
  protected selectMany({ relation, rows, selection }: RelationValue, outer: string): Sql {
    const { target } = relation
    const alias = this.writer.context.aliasOfRelated(relation, outer)
    const joins: Sql[] = []
    const row = this.rowJson(target, selection, alias, joins)
    const columns = columnsOf(this.neededColumns(target, selection), alias)
    const parent = { relation, alias: outer }
    const all = { ...rows, table: target, order: rows.order ?? byKey(target) }
    const found = this.writer.select(all, alias, columns, parent)
    return sql`select ${this.listJson(row)} from (${found}) as ${name(alias)}${join(joins, '')}`
  }
}

/** Writes rows for records: their columns, then counts, and a column for each relation. */
export class RecordsWriter extends SelectionWriter {
  write(query: RowsQuery): Sql {
    const { rows, stored, derived = [], selection = [], maxRelated, locks = false } = query
    const { context } = this.writer
    const alias = context.aliasOf(rows)
    const { table } = rows
    const ownColumns = stored
      ? storedValues(stored, alias, context)
      : returnedColumns(table, alias, context)
    const values = [
      ...derived.map((one) => this.#returned(one, alias)),
      ...(query.total === undefined ? [] : [this.#total(rows, query.total)]),
    ]
    if (!selection.some(({ kind }) => kind === 'relation')) {
      const counts = selection.map((entry) => this.#value(entry, alias))
      const columns = stored?.length === 0 ? sql`1` : join([ownColumns, ...values, ...counts])
      const lock = locks ? raw(context.dialect.statements.lock) : undefined
      return sql`${this.writer.select(rows, alias, columns)}${lock}`
    }
    const source = this.writer.select(rows, alias, sql`${name(alias)}.*`)
    const more = selection.map((entry) =>
      entry.kind === 'relation' && maxRelated !== undefined
        ? this.#limited(entry, { alias, source, maxRows: maxRelated })
        : this.#value(entry, alias),
    )
    return sql`select ${join([ownColumns, ...values, ...more])} from (${source}) as ${name(alias)}`
  }

  /** A derived value in the form in which the driver returns its column. */
  #returned(derived: Derived, alias: string): Sql {
    const { column } = derived
    const around = column && this.writer.context.dialect.values.returned(column)
    return wrap(around, this.writer.conditions.derived(alias, derived))
  }

  /** The number of all rows. A search in the list does not affect it, because its writer is another one. */
  #total({ table, withDeleted }: Rows, total: NonNullable<RowsQuery['total']>): Sql {
    const rows = { table, withDeleted, ...total }
    return sql`(${new RowWriter(this.writer.context).count({ query: 'count', rows })})`
  }

  /** A value in addition to the columns of the alias's row. */
  #value(entry: SelectedValue, alias: string): Sql {
    switch (entry.kind) {
      case 'count':
        return this.writer.conditions.derived(alias, entry.derived)
      case 'relation': {
        const { relation } = entry
        if (relation.kind !== 'belongsTo') return sql`(${this.selectMany(entry, alias)})`
        const owner = this.writer.context.aliasOfRelated(relation, alias)
        return sql`(${this.selectOne(entry, alias, { alias: owner })})`
      }
      default:
        throw new TypeError(
          `A record has all columns, and ${entry.key} is not among its relations.`,
        )
    }
  }

  /** The related rows, unless there are too many. Then the value is one that no row has. */
  #limited(entry: RelationValue, limit: RelatedLimit): Sql {
    const { alias, maxRows } = limit
    const json = this.#value(entry, alias)
    const { list } = this.writer.context.dialect.json.row
    const fits = sql`${this.#count(entry, limit)} <= ${raw(String(maxRows))}`
    const elseClause = entry.relation.kind === 'belongsTo' ? raw(` else ${list}()`) : undefined
    return sql`case when ${fits} then ${json}${elseClause} end`
  }

  /**
   * Counts the related rows on all levels, up to one more than `maxRows` on each path. Nested lists multiply, so an estimate
   * from averages would not be safe.
   */
  #count(entry: RelationValue, { alias: first, source, maxRows }: RelatedLimit): Sql {
    const { context } = this.writer
    const counts = pathsOf(entry).map((path) => {
      let outer = first
      let from = sql`(${source}) as ${name(first)}`
      for (const [index, { relation, rows }] of path.entries()) {
        const alias = context.aliasOfRelated(relation, outer)
        const next = path[index + 1]?.relation
        const column = next === undefined ? sql`1 as n` : join(joinColumns(alias, next))
        const target = context.joinTarget(relation, alias)
        const condition = context.isRelated(relation, target.matchColumns, alias, outer)
        const filtered = { table: relation.target, where: rows.where }
        const filter = this.writer.where(filtered, alias, { condition })
        outer = `${alias}p`
        context.keepShard(outer, alias)
        // The limits keep engines from reading the tables in reverse order.
        from = sql`(select ${column} from ${from}, ${target.from}${filter}${raw(` limit ${maxRows + 1}`)}) as ${name(outer)}`
      }
      return sql`(select count(*) from ${from})`
    })
    return sql`(${join(counts, ' + ')})`
  }

  /** A list of the row's values and of its related rows, in lists that are short enough for every engine. */
  protected rowJson(table: SqlTable, selection: Selection, alias: string): Sql {
    const { row: rowJson, ofSubquery } = this.writer.context.dialect.json
    const values = [
      ...table.columns.map((column) => wrap(rowJson.value(column), ref(alias, column))),
      ...selection.map((entry) => wrap(ofSubquery, this.#value(entry, alias))),
    ]
    const list = (some: readonly Sql[]): Sql => sql`${raw(rowJson.list)}(${join(some)})`
    const lists: Sql[] = []
    for (let from = 0; from < values.length; from += maxArguments)
      lists.push(list(values.slice(from, from + maxArguments)))
    return list(lists)
  }

  protected listJson(row: Sql): Sql {
    return wrap(this.writer.context.dialect.json.row.all, row)
  }

  protected neededColumns({ columns }: SqlTable): readonly Column[] {
    return columns
  }
}

/** The columns of an alias that its related rows are found by. */
function joinColumns(alias: string, { local, shards }: SqlRelation): readonly Sql[] {
  const columns = keyColumns(alias, local)
  const isMore = shards !== undefined && !storedColumnsOf(local).includes(shards.local)
  return isMore ? [...columns, ref(alias, shards.local)] : columns
}

interface RelatedLimit {
  /** The alias of `source`, the rows whose related rows are read. */
  readonly alias: string
  readonly source: Sql
  readonly maxRows: number
}

/** All paths of relations, each with its beginning. */
function pathsOf(entry: RelationValue): RelationValue[][] {
  const nested = entry.selection.filter((one) => one.kind === 'relation')
  return [[entry], ...nested.flatMap((one) => pathsOf(one).map((path) => [entry, ...path]))]
}

/** Writes rows as JSON objects with the selected keys. */
export class ObjectWriter extends SelectionWriter {
  readonly json: JsonSql

  constructor(writer: RowWriter) {
    super(writer)
    this.json = writer.context.dialect.json.createWriter(writer.context.dialect)
  }

  /** `select [{…}, {…}]`, or `select {…}` for one row. */
  write({ query, rows, selection }: ObjectsQuery): Sql {
    const { table } = rows
    const alias = this.writer.context.aliasOf(rows)
    const joins: Sql[] = []
    const row = this.object(selection, alias, joins)
    if (query === 'object')
      return sql`select ${row} from ${this.writer.context.table(table.name, alias)}${join(joins, '')}${this.writer.where(rows, alias)}`
    const columns = columnsOf(this.neededColumns(table, selection), alias)
    return sql`select ${this.json.all(row)} from (${this.writer.select(rows, alias, columns)}) as ${name(alias)}${join(joins, '')}`
  }

  /**
   * `{"id": …, "category": …}` of the alias's row.
   *
   * @param joins receives the joins that have to follow the table of the alias
   */
  object(selection: Selection, alias: string, joins: Sql[]): Sql {
    return this.json.object(
      selection.map((entry): [string, Sql] => [entry.key, this.#value(entry, alias, joins)]),
    )
  }

  #value(entry: SelectedValue, alias: string, joins: Sql[]): Sql {
    switch (entry.kind) {
      case 'name':
        return this.json.text(entry.name)
      case 'column':
        return this.#column(entry.field, alias)
      case 'nested':
        return this.json.parts(ref(alias, entry.column), entry.parts)
      case 'count':
        return this.json.count(this.writer.conditions.derived(alias, entry.derived))
      case 'relation':
        return entry.relation.kind === 'belongsTo'
          ? this.#joined(entry, alias, joins)
          : this.json.nested(this.selectMany(entry, alias))
    }
  }

  #column(field: JsonField, alias: string): Sql {
    const { column, keyParts, idPrefix = '' } = field
    if (keyParts === undefined) return this.json.value(field, ref(alias, column))
    const parts = keyParts.map((part) => ({ field: part, value: ref(alias, part.column) }))
    return this.json.globalKey(idPrefix, parts)
  }

  /** The row that the row of an alias belongs to, by a join while the statement has few tables. */
  #joined(entry: RelationValue, outer: string, joins: Sql[]): Sql {
    const { context } = this.writer
    const { relation, rows, selection } = entry
    const { target, foreign } = relation
    const { belongsTo } = context.dialect.statements
    const alias = context.aliasOfRelated(relation, outer)
    if (joins.length >= belongsTo.maxTables)
      return this.json.optional(this.json.nested(this.selectOne(entry, outer, { alias })))
    if (belongsTo.join === 'left') {
      const key = keyColumns(alias, foreign)
      const joinCondition = this.writer.filter({ table: target, where: rows.where }, alias, {
        condition: context.isRelated(relation, key, alias, outer),
      })
      joins.push(sql` left join ${context.table(target.name, alias)} on ${joinCondition}`)
      // Either all columns of a row are null, or none of its key is.
      return sql`case when ${key[0]} is not null then ${this.object(selection, alias, joins)} end`
    }
    // The limit forces a nested loop. Other kinds of joins may change the order of the rows.
    const columnName = sql` as filigree_owner`
    const row = this.selectOne(entry, outer, { alias, columnName })
    const owner = `${alias}o`
    joins.push(sql` left join lateral (${row} limit 1) as ${name(owner)} on true`)
    return this.json.optional(name(owner, 'filigree_owner'))
  }

  protected rowJson(_table: SqlTable, selection: Selection, alias: string, joins: Sql[]): Sql {
    return this.object(selection, alias, joins)
  }

  protected listJson(row: Sql): Sql {
    return this.json.aggregate(row)
  }

  protected neededColumns(table: SqlTable, selection: Selection): readonly Column[] {
    const columns = columnsIn(selection)
    if (columns.size > 0) return [...columns]
    return hasKey(table) ? storedColumnsOf(table.key) : table.columns.slice(0, 1)
  }
}

/** The columns that the JSON object of a row needs. */
export function columnsIn(selection: Selection): Set<Column> {
  const columns = new Set<Column>()
  for (const entry of selection) {
    if (entry.kind === 'name') continue
    if (entry.kind === 'column')
      for (const column of storedColumnsOf(entry.field.column)) columns.add(column)
    else if (entry.kind === 'nested') columns.add(entry.column)
    else {
      const relation =
        entry.kind === 'count' ? (entry.derived.path[0] as RelationStep).relation : entry.relation
      const { local, shards } = relation
      for (const column of storedColumnsOf(local)) columns.add(column)
      if (shards !== undefined) columns.add(shards.local)
    }
  }
  return columns
}
