/**
 * Writes keys and foreign keys, which are one column or several. As a value, a key of several columns is the JSON list of its
 * parts. For one key, each part is a value of the statement. A list of keys is one value. Sources: PostgreSQL, Row and Array Comparisons; SQLite, Row Values.
 *
 * ```sql
 * "t0"."order_id" = ? and "t0"."line" = ?                                               -- one key
 * ("t0"."order_id", "t0"."line") in (select value ->> 0, value ->> 1 from json_each(?))  -- a list of keys
 * "t1"."order_id" = "t0"."order_id" and "t1"."line" = "t0"."line"                       -- a join
 * json_array("t0"."order_id", "t0"."line")                                              -- the key as one value
 * ```
 */
import type { Dialect } from '../engines/contract/dialect.js'
import {
  join,
  name,
  partSlot,
  raw,
  slot,
  sql,
  wrap,
  type Sql,
} from '../engines/contract/sql-text.js'
import { storedColumnsOf, type Column } from '../engines/contract/table.js'

/** The columns of an alias in which a key is stored. */
export function keyColumns(alias: string, column: Column): readonly Sql[] {
  return storedColumnsOf(column).map((part) => name(alias, part.name))
}

/** One value for a comparison: `"t0"."id"`, or a row, `("t0"."order_id", "t0"."line")`. */
export function rowOf(values: readonly Sql[]): Sql {
  return values.length === 1 ? (values[0] as Sql) : sql`(${join(values)})`
}

/** Whether keys are equal, by an `and` of their parts. */
export function areEqual(left: readonly Sql[], right: readonly Sql[]): Sql {
  // A row without a key is never found by one.
  if (left.length === 0) return sql`1 = 0`
  return join(
    left.map((one, index) => sql`${one} = ${right[index]}`),
    ' and ',
  )
}

/** The values of a key's columns, from the slot of the key. */
export function keySlots({ parts }: Column, slotIndex: number): readonly Sql[] {
  return parts?.map((_, index) => partSlot(slotIndex, index)) ?? [slot(slotIndex)]
}

/** The values of a key's columns, from the key as JSON. */
export function keyValuesOf(column: Column, value: Sql, dialect: Dialect): readonly Sql[] {
  const { parts } = column
  return parts === undefined
    ? [value]
    : partsOfJson(parts, wrap(dialect.json.keys.json, value), dialect)
}

function partsOfJson(parts: readonly Column[], json: Sql, dialect: Dialect): readonly Sql[] {
  return parts.map(
    (part, index) => sql`(${json} ->> ${raw(String(index))})${raw(dialect.values.typed(part))}`,
  )
}

/** Selects the columns of each key of a packed list. */
export function keysOfList(parts: readonly Column[], list: Sql, dialect: Dialect): Sql {
  const values = partsOfJson(parts, raw('value'), dialect)
  return sql`select ${join(values)} from ${wrap(dialect.json.keys.entries, list)} as filigree_keys`
}

/** The part of a key, from 0, of which partitions have ranges. @returns `undefined` without partitions */
export function partitionPartOf(key: Column, { tables }: Dialect): number | undefined {
  if (tables.partitions === undefined) return undefined
  const part = storedColumnsOf(key).findIndex(({ partition }) => partition !== undefined)
  return part === -1 ? undefined : part
}

interface KeyList {
  readonly slots: readonly number[]
  /** The only slot contains the complete list. */
  readonly isPacked: boolean
}

/**
 * Whether a key is in a list.
 *
 * @param partitionPart as `partitionPartOf`. Of several columns, partitions outside the range of the list are left out
 */
export function isListed(
  columns: readonly Sql[],
  column: Column,
  { slots, isPacked }: KeyList,
  dialect: Dialect,
  partitionPart?: number,
): Sql {
  const { parts } = column
  const list = join(slots.map(slot))
  if (parts === undefined) {
    const template = isPacked ? dialect.lists.test : (['in (', ')'] as const)
    return sql`${rowOf(columns)} ${wrap(template, list)}`
  }
  const keys = isPacked
    ? keysOfList(parts, list, dialect)
    : sql`values ${join(slots.map((one) => rowOf(keyValuesOf(column, slot(one), dialect))))}`
  const test = sql`${rowOf(columns)} in (${keys})`
  if (partitionPart === undefined || !isPacked) return test
  const value = partsOfJson(parts, raw('value'), dialect)[partitionPart]
  const end = (aggregate: Sql): Sql =>
    sql`(select ${aggregate}(${value}) from ${wrap(dialect.json.keys.entries, list)} as filigree_keys)`
  return sql`(${test} and ${columns[partitionPart]} between ${end(raw('min'))} and ${end(raw('max'))})`
}

/** A key as one value of a result. */
export function keyAsValue(columns: readonly Sql[], { parts }: Column, dialect: Dialect): Sql {
  if (parts === undefined) return columns[0] as Sql
  const { row } = dialect.json
  const values = columns.map((column, index) => wrap(row.value(parts[index] as Column), column))
  return sql`${raw(row.list)}(${join(values)})`
}
