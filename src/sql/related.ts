/** Writes rows with their related rows: each relation is a column with the JSON of its rows, as lists of a driver's values. */
import { join, name, raw, sql, within, type Sql } from '../engines/contract/sql-text.js'
import type { Derived } from './derived.js'
import { byKey } from './order.js'
import { answeredOf, columnsOf, type RowsWriter } from './rows.js'
import type { SqlTable } from './table.js'
import type { Related, RowsQuestion } from './tree.js'
import { ref } from './writing.js'

/** On some engines functions accept at most a hundred arguments. */
const mostArguments = 45

/** Rows as records have them. */
export function writeRows(
  { rows, stored, derived = [], related = [], most, holds = false }: RowsQuestion,
  writer: RowsWriter,
): Sql {
  const { writing } = writer
  const alias = writing.alias()
  const { table } = rows
  const own = stored ? columnsOf(stored, alias) : answeredOf(table, alias, writing)
  const values = derived.map((one) => answeredValue(one, alias, writer))
  if (related.length === 0) {
    const columns = stored?.length === 0 ? sql`1` : join([own, ...values])
    const held = holds ? raw(writing.dialect.lock) : undefined
    return sql`${writer.select(rows, alias, columns)}${held}`
  }
  const found = writer.select(rows, alias, sql`${name(alias)}.*`)
  const more = related.map((one) => writeRelated(one, alias, { writer, found, most }))
  return sql`select ${join([own, ...values, ...more])} from (${found}) as ${name(alias)}`
}

/** A value from other tables, as the driver gives those of its column. */
function answeredValue(derived: Derived, alias: string, writer: RowsWriter): Sql {
  const { of } = derived
  const around = of && writer.writing.dialect.answered(of)
  return within(around, writer.conditions.derived(alias, derived))
}

interface Around {
  readonly writer: RowsWriter
  /** The rows that others are related to. */
  readonly found: Sql
  readonly most: number | undefined
}

function writeRelated(related: Related, alias: string, { writer, found, most }: Around): Sql {
  const json = jsonOf(related, alias, writer)
  if (most === undefined) return json
  const isFine = sql`${countOf(related, { alias, found, most }, writer)} <= ${raw(String(most))}`
  // What stands for too many rows: what else is never there.
  const { list } = writer.writing.dialect.rowJson
  const instead = related.tie.kind === 'belongsTo' ? raw(` else ${list}()`) : undefined
  return sql`case when ${isFine} then ${json}${instead} end`
}

/** The JSON of a relation's rows, for the row of another alias. */
function jsonOf({ tie, where, below }: Related, outer: string, writer: RowsWriter): Sql {
  const { target, kind } = tie
  const alias = writer.writing.alias()
  const row = listOf(target, below, alias, writer)
  const tied = { tie, outer }
  if (kind === 'belongsTo')
    return sql`(${writer.select({ table: target, where }, alias, row, tied)})`
  const rows = { table: target, where, order: byKey(target) }
  const found = writer.select(rows, alias, columnsOf(target.columns, alias), tied)
  return sql`(select ${within(writer.writing.dialect.rowJson.all, row)} from (${found}) as ${name(alias)})`
}

/** The list of a row's values, and of its related rows. */
function listOf(
  table: SqlTable,
  below: readonly Related[],
  alias: string,
  writer: RowsWriter,
): Sql {
  const { rowJson, jsonOfSubquery } = writer.writing.dialect
  const values = [
    ...table.columns.map((column) => within(rowJson.value(column), ref(alias, column))),
    ...below.map((one) => within(jsonOfSubquery, jsonOf(one, alias, writer))),
  ]
  const list = (some: readonly Sql[]): Sql => sql`${raw(rowJson.list)}(${join(some)})`
  const lists: Sql[] = []
  for (let from = 0; from < values.length; from += mostArguments)
    lists.push(list(values.slice(from, from + mostArguments)))
  return list(lists)
}

/**
 * How many rows would come, counted no further than one more than may: lists behind lists of rows that are tied to many
 * are as many as the product of them, whatever there is on the average.
 */
function countOf(
  related: Related,
  {
    alias: first,
    found,
    most,
  }: { readonly alias: string; readonly found: Sql; readonly most: number },
  writer: RowsWriter,
): Sql {
  const { writing } = writer
  const counts = pathsOf(related).map((path) => {
    let outer = first
    let rows = sql`(${found}) as ${name(first)}`
    for (const [index, { tie, where }] of path.entries()) {
      const alias = writing.alias()
      const next = path[index + 1]?.tie.local
      const wanted = next === undefined ? sql`1 as n` : ref(alias, next)
      const { from, led } = writing.reach(tie, alias)
      const isTest = writing.isTied(tie, led, alias, outer)
      const tests = writer.where({ table: tie.target, where }, alias, { isTest })
      outer = `${alias}p`
      // The limit of each keeps engines from beginning at the other end.
      rows = sql`(select ${wanted} from ${rows}, ${from}${tests}${raw(` limit ${most + 1}`)}) as ${name(outer)}`
    }
    return sql`(select count(*) from ${rows})`
  })
  return sql`(${join(counts, ' + ')})`
}

/** Each way from the rows to those behind them. */
function pathsOf(related: Related): Related[][] {
  return [
    [related],
    ...related.below.flatMap((one) => pathsOf(one).map((path) => [related, ...path])),
  ]
}
