/**
 * For one change, rows and the relations below them are read once for all subscribers who see the same rows, that is,
 * with the same row filter and the same values in it. Source: docs/graphql.md, Subscriptions.
 */
import { type MaybePromise, after } from '../../core/maybe-promise.js'
import type { RowChanges } from '../../records/changes/changes.js'
import type { Id } from '../../records/filters/list-options.js'
import type { Relation } from '../../records/model/table.js'
import type { QueryReader } from './query-reader.js'
import type { Instance } from './read-rows.js'

const readings = new WeakMap<RowChanges, Map<string, unknown>>()

/**
 * @param reader has read the caller's rows of the record, and nothing else yet
 * @param read must depend on the change, the row and the reader's rows alone
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

/** What was read of relations below the rows of one change. */
type BelowReadings = Map<Relation, Map<string, unknown>>

const readsBelowChange = new WeakMap<RowChanges, BelowReadings>()
/** By row that several subscribers are told. */
const readsBelowRow = new WeakMap<Instance, BelowReadings>()

/** A row that several subscribers are told: what is read below it is shared, too. */
export function shareBelow(changes: RowChanges, row: Instance): void {
  let readings = readsBelowChange.get(changes)
  if (readings === undefined)
    readsBelowChange.set(changes, (readings = new Map<Relation, Map<string, unknown>>()))
  readsBelowRow.set(row, readings)
}

/** True for rows that several subscribers are told. */
export function isShared(row: Instance): boolean {
  return readsBelowRow.has(row)
}

/**
 * @param keys of the rows above
 * @param reader has read the whole question, and the caller's rows behind the relation
 * @param read must depend on the relation, the keys and the reader's question alone
 */
export function readBelow<T extends ReadonlyMap<string, Instance | readonly Instance[]>>(
  row: Instance,
  relation: Relation,
  keys: readonly unknown[],
  { key, values }: QueryReader,
  read: () => MaybePromise<T>,
): MaybePromise<T> {
  const readings = readsBelowRow.get(row)
  const parameters = textOf([...keys, ...values])
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
