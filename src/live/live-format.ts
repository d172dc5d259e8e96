/**
 * Formats the results of live queries and the differences between them, as JSON and as server-sent events. Rows are
 * compared by their key: `id`, or the JSON list of the fields that are the key together. Values without keys are sent
 * completely.
 * Source: decisions, Live queries.
 */

import { isMap } from '../core/json.js'
import { toWrittenEvent, type WrittenEvent } from '../http/events.js'

/**
 * Differences of a list: changed rows, the keys of removed rows, and the order of all keys if clients cannot derive it.
 */
interface ListDifference {
  /** The fields that are the key together, if the key is not `id`. */
  readonly key?: KeyFields
  readonly set: readonly unknown[]
  readonly gone: readonly (string | number)[]
  readonly order?: readonly (string | number)[]
}

export type LiveMessage =
  | { readonly kind: 'data'; readonly id: string; readonly text: string }
  | { readonly kind: 'closed'; readonly status: number; readonly text: string }

export interface LiveFormat {
  /** @param text JSON of the result; undefined if the resource no longer exists */
  complete(text: string | undefined, version: number, isLost: boolean): string
  /** Describes how a result has changed. The two texts always differ. */
  change(before: string | undefined, now: string | undefined, version: number): string
  /** States why the live query ended. */
  closed(status: number): string
}

type KeyFields = readonly string[]

/**
 * Format of `crud` and handlers: `{ version, data }`, then `{ version, set, gone, order }`.
 *
 * @param key the fields that are the key of the rows together. Default: `id`
 */
export function rowsForm(key?: KeyFields): LiveFormat {
  const form: LiveFormat = {
    complete: (text, version, isLost) =>
      `{"version":${version},"data":${text ?? 'null'}${isLost ? ',"lost":true' : ''}}`,
    change: (before, now, version) => {
      const changes = differenceOf(parse(before), parse(now), key)
      if (changes === undefined) return form.complete(now, version, false)
      return `{"version":${version},${JSON.stringify(changes).slice(1)}`
    },
    closed: (status) => JSON.stringify({ status }),
  }
  return Object.freeze(form)
}

/**
 * Format of GraphQL: execution results, with live query data in `extensions`. The texts are execution results.
 *
 * @param keys by root field: the fields that are the key of its rows together. Default: `id`
 */
export function resultForm(keys: ReadonlyMap<string, KeyFields> = new Map()): LiveFormat {
  const form: LiveFormat = {
    complete: (text, version, isLost) => withLive(text, { version, ...(isLost && { lost: true }) }),
    change: (before, now, version) => {
      const changes = changesOf(parse(before), parse(now), keys)
      if (changes === undefined) return form.complete(now, version, false)
      return JSON.stringify({ extensions: { live: { version, changes } } })
    },
    closed: closedResult,
  }
  return Object.freeze(form)
}

function closedResult(status: number): string {
  const [message, code] =
    status === 401 ? ['Unauthorized', 'UNAUTHENTICATED'] : ['Forbidden', 'FORBIDDEN']
  const errors = [{ message, extensions: { code } }]
  return JSON.stringify({ errors, extensions: { live: { closed: status } } })
}
const completeResults = resultForm()

/** Sends complete results, for clients that cannot apply differences: `@live(whole: true)`. */
export const completeResultForm: LiveFormat = Object.freeze({
  ...completeResults,
  change: (_before, now, version) => completeResults.complete(now, version, false),
} satisfies LiveFormat)

/** @param text a JSON object */
function withLive(text = '{"data":null}', live: object): string {
  return `${text.slice(0, -1)},"extensions":${JSON.stringify({ live })}}`
}

/** Changes by root field; undefined if anything except rows has changed. */
function changesOf(
  before: unknown,
  now: unknown,
  keys: ReadonlyMap<string, KeyFields>,
): Record<string, ListDifference> | undefined {
  const [previous, current] = [dataOf(before), dataOf(now)]
  if (previous === undefined || current === undefined) return undefined
  const changes: Record<string, ListDifference> = {}
  for (const [field, value] of Object.entries(current)) {
    if (JSON.stringify(value) === JSON.stringify(previous[field])) continue
    const rowChanges = differenceOf(previous[field], value, keys.get(field))
    if (rowChanges === undefined) return undefined
    Object.defineProperty(changes, field, { value: rowChanges, enumerable: true })
  }
  return changes
}

/** The data of a result without errors. */
function dataOf(result: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isMap(result) || 'errors' in result || !isMap(result.data)) return undefined
  return result.data
}

type Key = string | number

/** @returns undefined if either value is not a list of rows with keys */
function differenceOf(
  before: unknown,
  now: unknown,
  key: KeyFields | undefined,
): ListDifference | undefined {
  const previous = byKey(before, key)
  const current = byKey(now, key)
  if (previous === undefined || current === undefined) return undefined
  const removed = [...previous.keys()].filter((key) => !current.has(key))
  const set: unknown[] = []
  for (const [key, row] of current)
    if (!previous.has(key) || JSON.stringify(previous.get(key)) !== JSON.stringify(row))
      set.push(row)
  // Remaining rows keep their order. New rows follow them in the order of `set`.
  const follows = [...[...previous.keys()].filter((key) => current.has(key))]
  for (const key of current.keys()) if (!previous.has(key)) follows.push(key)
  const order = [...current.keys()]
  const isInOrder = order.every((key, index) => key === follows[index])
  const named = key === undefined ? {} : { key }
  return isInOrder ? { ...named, set, gone: removed } : { ...named, set, gone: removed, order }
}

function byKey(value: unknown, key: KeyFields | undefined): Map<Key, unknown> | undefined {
  if (!Array.isArray(value)) return undefined
  const rows = new Map<Key, unknown>()
  for (const row of value as readonly unknown[]) {
    const id = isMap(row) ? keyIn(row, key) : undefined
    if ((typeof id !== 'string' && typeof id !== 'number') || rows.has(id)) return undefined
    rows.set(id, row)
  }
  return rows
}

/** @returns undefined for a row without its key, or without a part of it */
function keyIn(row: Readonly<Record<string, unknown>>, key: KeyFields | undefined): unknown {
  if (key === undefined) return row.id
  const parts = key.map((name) => row[name])
  return parts.includes(undefined) ? undefined : JSON.stringify(parts)
}

function parse(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text)
}

/** Writes messages as server-sent events. Each message is formatted once for all listeners. */
export interface EventFormat {
  /** The events of a message, in order. */
  readonly toItems: (message: LiveMessage) => readonly WrittenEvent[]
  /** Sent after the last message, unless the listener was closed with an error status. */
  readonly last: readonly WrittenEvent[]
}

const closedEvent = (status: number): WrittenEvent =>
  toWrittenEvent({ event: 'closed', data: JSON.stringify({ status }) })

const complete = toWrittenEvent({ event: 'complete', data: '' })

/** Event format of `crud` and handlers: `live` and `closed`. */
export const rowEvents: EventFormat = Object.freeze({
  toItems: cachedPerMessage((message) =>
    message.kind === 'data'
      ? [toWrittenEvent({ event: 'live', id: message.id, data: message.text })]
      : [closedEvent(message.status)],
  ),
  last: [],
})

/**
 * Event format of GraphQL over server-sent events: `next` and `complete`. `closed` follows `complete`, because clients
 * of that protocol stop reading there.
 */
export const resultEvents: EventFormat = Object.freeze({
  toItems: cachedPerMessage((message) =>
    message.kind === 'data'
      ? [toWrittenEvent({ event: 'next', id: message.id, data: message.text })]
      : [
          toWrittenEvent({ event: 'next', data: message.text }),
          complete,
          closedEvent(message.status),
        ],
  ),
  last: [complete],
})

function cachedPerMessage(write: EventFormat['toItems']): EventFormat['toItems'] {
  const written = new WeakMap<LiveMessage, readonly WrittenEvent[]>()
  return (message) => {
    let items = written.get(message)
    if (items === undefined) written.set(message, (items = write(message)))
    return items
  }
}
