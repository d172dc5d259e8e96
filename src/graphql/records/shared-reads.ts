/**
 * Shares reads between subscribers: for one change, the row and its relations are read once for all subscribers with
 * the same row filter and the same values in it. Source: docs/graphql.md, Subscriptions.
 */
import { type MaybePromise, after } from '../../core/maybe-promise.js'
import type { RowChanges } from '../../records/changes/changes.js'
import type { Id } from '../../records/filters/list-options.js'
import type { Relation, Instance } from '../../records/model/table.js'
import type { QueryReader } from './query-reader.js'

const readings = new WeakMap<RowChanges, Map<string, unknown>>()

/**
 * @param reader contains only the caller's row filter
 *
 * @param read must depend only on the change, the row and the row filter
 */
export function readShared<T>(
  changes: RowChanges,
  id: Id,
  { key, values }: QueryReader,
  read: () => T,
): T {
  const rights = textOf(values)
  if (rights === undefined) return read()
  let readsOfChange = readings.get(changes)
  if (readsOfChange === undefined)
    readings.set(changes, (readsOfChange = new Map<string, unknown>()))
  const cacheKey = `${typeof id} ${id} ${key} ${rights}`
  if (readsOfChange.has(cacheKey)) return readsOfChange.get(cacheKey) as T
  const reading = read()
  readsOfChange.set(cacheKey, reading)
  return reading
}

/** Reads of relations for one change, by relation and cache key. */
type BelowReadings = Map<Relation, Map<string, unknown>>

const readsBelowChange = new WeakMap<RowChanges, BelowReadings>()
const readsBelowRow = new WeakMap<Instance, BelowReadings>()

/** Marks a row as shared, so that reads of its relations are shared too. */
export function shareBelow(changes: RowChanges, row: Instance): void {
  let readings = readsBelowChange.get(changes)
  if (readings === undefined)
    readsBelowChange.set(changes, (readings = new Map<Relation, Map<string, unknown>>()))
  readsBelowRow.set(row, readings)
}

/** Whether several subscribers share the row. */
export function isShared(row: Instance): boolean {
  return readsBelowRow.has(row)
}

/**
 * Shares the read of a relation.
 *
 * @param keys the keys of the parent rows
 * @param reader contains the arguments of the relation and the caller's row filter
 * @param read must depend only on the relation, the keys and the reader
 */
export function readBelow<T extends ReadonlyMap<string, readonly Instance[]>>(
  row: Instance,
  relation: Relation,
  keys: readonly unknown[],
  { key, values }: QueryReader,
  read: () => MaybePromise<T>,
): MaybePromise<T> {
  const readings = readsBelowRow.get(row)
  const parameters = readings && textOf([...keys, ...values])
  if (readings === undefined || parameters === undefined) return read()
  let readsOfRelation = readings.get(relation)
  if (readsOfRelation === undefined)
    readings.set(relation, (readsOfRelation = new Map<string, unknown>()))
  const cacheKey = `${key} ${parameters}`
  if (readsOfRelation.has(cacheKey)) return readsOfRelation.get(cacheKey) as MaybePromise<T>
  const reading = after(read(), (found) => {
    for (const one of [...found.values()].flat()) readsBelowRow.set(one, readings)
    return found
  })
  readsOfRelation.set(cacheKey, reading)
  return reading
}

/** A text that identifies a value; `undefined` for objects. */
function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const items = value.map(textOf)
    return items.includes(undefined) ? undefined : `[${items.join(',')}]`
  }
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'bigint') return `${value}n`
  return typeof value === 'object' && value !== null ? undefined : String(value)
}
