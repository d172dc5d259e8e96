/**
 * How answers and their differences are written. Rows with a key, `id`, are told apart by it; what has none is told whole.
 * Source: decisions, Live queries.
 */
import { isMap } from '../core/json.js'

/** What is told of a list: whole rows, keys that are gone, and all keys in order where it does not follow. */
export interface RowChanges {
  readonly set: readonly unknown[]
  readonly gone: readonly (string | number)[]
  readonly order?: readonly (string | number)[]
}

export interface LiveFormat {
  /** @param text the answer's JSON; undefined where there is nothing any more */
  complete(text: string | undefined, version: number, isLost: boolean): string
  /** What has become of an answer. Both are different texts. */
  change(before: string | undefined, now: string | undefined, version: number): string
  /** Why nothing more comes. */
  closed(status: number): string
}

/** Of `crud` and handlers: `{ version, data }`, then `{ version, set, gone, order }`. */
export const rowsForm: LiveFormat = Object.freeze({
  complete: (text, version, isLost) =>
    `{"version":${version},"data":${text ?? 'null'}${isLost ? ',"lost":true' : ''}}`,
  change: (before, now, version) => {
    const changes = differenceOf(parse(before), parse(now))
    if (changes === undefined) return rowsForm.complete(now, version, false)
    return `{"version":${version},${JSON.stringify(changes).slice(1)}`
  },
  closed: (status) => JSON.stringify({ status }),
} satisfies LiveFormat)

/** Of GraphQL: execution results, with what belongs to the live answer in `extensions`. Texts are results. */
export const resultForm: LiveFormat = Object.freeze({
  complete: (text, version, isLost) => withLive(text, { version, ...(isLost && { lost: true }) }),
  change: (before, now, version) => {
    const changes = changesOf(parse(before), parse(now))
    if (changes === undefined) return resultForm.complete(now, version, false)
    return JSON.stringify({ extensions: { live: { version, changes } } })
  },
  closed: (status) => {
    const [message, code] =
      status === 401 ? ['Unauthorized', 'UNAUTHENTICATED'] : ['Forbidden', 'FORBIDDEN']
    const errors = [{ message, extensions: { code } }]
    return JSON.stringify({ errors, extensions: { live: { closed: status } } })
  },
} satisfies LiveFormat)

/** For clients that know no differences: `@live(whole: true)`. */
export const completeResultForm: LiveFormat = Object.freeze({
  ...resultForm,
  change: (_before, now, version) => resultForm.complete(now, version, false),
} satisfies LiveFormat)

/** @param text a JSON object */
function withLive(text = '{"data":null}', live: object): string {
  return `${text.slice(0, -1)},"extensions":${JSON.stringify({ live })}}`
}

/** By root field; undefined where something else than rows has changed. */
function changesOf(before: unknown, now: unknown): Record<string, RowChanges> | undefined {
  const [previous, current] = [dataOf(before), dataOf(now)]
  if (previous === undefined || current === undefined) return undefined
  const changes: Record<string, RowChanges> = {}
  for (const [field, value] of Object.entries(current)) {
    if (JSON.stringify(value) === JSON.stringify(previous[field])) continue
    const rowChanges = differenceOf(previous[field], value)
    if (rowChanges === undefined) return undefined
    Object.defineProperty(changes, field, { value: rowChanges, enumerable: true })
  }
  return changes
}

/** Of a result without errors. */
function dataOf(result: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isMap(result) || 'errors' in result || !isMap(result.data)) return undefined
  return result.data
}

type Key = string | number

/** @returns undefined where one of them is no list of rows with keys */
function differenceOf(before: unknown, now: unknown): RowChanges | undefined {
  const previous = byKey(before)
  const current = byKey(now)
  if (previous === undefined || current === undefined) return undefined
  const gone = [...previous.keys()].filter((key) => !current.has(key))
  const set: unknown[] = []
  for (const [key, row] of current)
    if (!previous.has(key) || JSON.stringify(previous.get(key)) !== JSON.stringify(row))
      set.push(row)
  // Rows that stay keep their places, new ones come behind them in the order of `set`.
  const follows = [...[...previous.keys()].filter((key) => current.has(key))]
  for (const key of current.keys()) if (!previous.has(key)) follows.push(key)
  const order = [...current.keys()]
  const isInOrder = order.every((key, index) => key === follows[index])
  return isInOrder ? { set, gone } : { set, gone, order }
}

function byKey(value: unknown): Map<Key, unknown> | undefined {
  if (!Array.isArray(value)) return undefined
  const rows = new Map<Key, unknown>()
  for (const row of value as readonly unknown[]) {
    const id = isMap(row) ? row.id : undefined
    if ((typeof id !== 'string' && typeof id !== 'number') || rows.has(id)) return undefined
    rows.set(id, row)
  }
  return rows
}

function parse(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text)
}
