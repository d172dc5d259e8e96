/** How the texts that a statement answers become values. JSON, days and moments stay text: the record's own code reads them. */
import type { Driver, Field } from './driver.js'

export interface Columns {
  readonly names: readonly string[]
  /** By place; `undefined` where the text is the value. */
  readonly read: readonly (((text: string) => unknown) | undefined)[]
}

export const noColumns: Columns = Object.freeze({ names: [], read: [] })

/** Reads what a server says of a statement's columns. */
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
 * int8, text, json, varchar, char, date, time, timestamptz, numeric, uuid, jsonb. Of a day pg would make midnight
 * somewhere, as a Date.
 */
const keptAsText: ReadonlySet<number> = new Set([
  20, 25, 114, 1042, 1043, 1082, 1083, 1184, 1700, 2950, 3802,
])

/** int2, int4, oid, float4, float8. */
const numbers: ReadonlySet<number> = new Set([21, 23, 26, 700, 701])
