/**
 * What subscribers are told of one change is read once for all who see the same rows: with the same row filter and the
 * same values in it. Source: docs/graphql.md, Subscriptions.
 */
import type { RowChanges } from '../../records/changes/changes.js'
import type { Id } from '../../records/filters/list-options.js'
import type { QuestionReader } from './question.js'

const readings = new WeakMap<RowChanges, Map<string, unknown>>()

/**
 * @param reader has read the caller's rows of the record, and nothing else yet
 * @param read must depend on the change, the row and the reader's rows alone
 */
export function readShared<T>(
  changes: RowChanges,
  id: Id,
  { key, values }: QuestionReader,
  read: () => T,
): T {
  const rights = textOf(values)
  if (rights === undefined) return read()
  let ofChanges = readings.get(changes)
  if (ofChanges === undefined) readings.set(changes, (ofChanges = new Map<string, unknown>()))
  const place = `${typeof id} ${id} ${key} ${rights}`
  if (ofChanges.has(place)) return ofChanges.get(place) as T
  const reading = read()
  ofChanges.set(place, reading)
  return reading
}

/** Different texts for different values; `undefined` for what is no plain value. */
function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const items = value.map(textOf)
    return items.includes(undefined) ? undefined : `[${items.join(',')}]`
  }
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'bigint') return `${value}n`
  return typeof value === 'object' && value !== null ? undefined : String(value)
}
