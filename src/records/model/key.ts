/** Reads a record's key. */
import type { TableCodec } from './codec.js'

/**
 * @param id a key, or an integer key as text, as paths and GraphQL give it
 * @returns the driver's value; `undefined` for a value that cannot be a key, which no row has
 */
export function toKey({ key }: TableCodec, id: unknown): unknown {
  const { fromText } = key.column.field.entry
  const value = typeof id === 'string' ? fromText(id) : id
  if (value === undefined || value === null || !key.accepts(value)) return undefined
  return key.encode(value)
}
