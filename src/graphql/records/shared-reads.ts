/**
 * For one change, rows and the relations below them are read once for all subscribers who see the same rows, that is,
 * with the same row filter and the same values in it. Source: docs/graphql.md, Subscriptions.
 */
import { type Later, after } from '../../core/maybe-promise.js'
import type { RowChanges } from '../../records/changes/changes.js'
import type { Id } from '../../records/filters/list-options.js'
import type { Relation } from '../../records/model/table.js'
import type { QuestionReader } from './query-reader.js'
import type { Instance } from './read-rows.js'

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

/** What was read of relations below the rows of one change. */
type BelowReadings = Map<Relation, Map<string, unknown>>

const below = new WeakMap<RowChanges, BelowReadings>()
/** By row that several subscribers are told. */
const ofRow = new WeakMap<Instance, BelowReadings>()

/** A row that several subscribers are told: what is read below it is shared, too. */
export function shareBelow(changes: RowChanges, row: Instance): void {
  let readings = below.get(changes)
  if (readings === undefined)
    below.set(changes, (readings = new Map<Relation, Map<string, unknown>>()))
  ofRow.set(row, readings)
}

/** True for rows that several subscribers are told. */
export function isShared(row: Instance): boolean {
  return ofRow.has(row)
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
  { key, values }: QuestionReader,
  read: () => Later<T>,
): Later<T> {
  const readings = ofRow.get(row)
  const asked = textOf([...keys, ...values])
  if (readings === undefined || asked === undefined) return read()
  let ofRelation = readings.get(relation)
  if (ofRelation === undefined) readings.set(relation, (ofRelation = new Map<string, unknown>()))
  const place = `${key} ${asked}`
  if (ofRelation.has(place)) return ofRelation.get(place) as Later<T>
  const reading = after(read(), (found) => {
    for (const one of [...found.values()].flat()) ofRow.set(one, readings)
    return found
  })
  ofRelation.set(place, reading)
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
