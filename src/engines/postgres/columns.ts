/**
 * Converts the texts in a statement's answer to values. JSON, days and moments stay text: the record's codecs read
 * them.
 */
import type { Driver, Field } from './driver.js'

export interface Columns {
  readonly names: readonly string[]
  /** By place; `undefined` if the text is the value. */
  readonly read: readonly (((text: string) => unknown) | undefined)[]
}

export const noColumns: Columns = Object.freeze({ names: [], read: [] })

/** Reads the server's description of a statement's columns. */
export type ColumnReader = (fields: readonly Field[]) => Columns

export function createColumnReader({ types }: Driver): ColumnReader {
  const readerOf = (oid: number): ((text: string) => unknown) | undefined => {
    if (keptAsText.has(oid)) return undefined
    return numbers.has(oid) ? Number : types.getTypeParser(oid, 'text')
  }
  return (fields) => ({
    names: fields.map(({ name }) => name),
    read: fields.map(({ dataTypeID }) => readerOf(dataTypeID)),
  })
}

/**
 * int8, text, json, varchar, char, date, time, timestamptz, numeric, uuid, jsonb. pg would make a Date at midnight in
 * the local time zone from a day.
 */
const keptAsText: ReadonlySet<number> = new Set([
  20, 25, 114, 1042, 1043, 1082, 1083, 1184, 1700, 2950, 3802,
])

/** int2, int4, oid, float4, float8. */
const numbers: ReadonlySet<number> = new Set([21, 23, 26, 700, 701])
