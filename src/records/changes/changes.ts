/** The changes that listeners receive, and the short text messages that carry them between processes. */
import { tryParseJson } from '../../core/json.js'
import type { Class } from '../../metadata/class.js'
import type { Id } from '../filters/list-options.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'

export type ChangeEvent = 'created' | 'updated' | 'deleted'

/** A row was written. Sent after the commit. */
export interface Change {
  readonly event: ChangeEvent
  /** The row's class. */
  readonly record: Class
  /** The row's key. */
  readonly id: Id
}

/** Rows of one table with the same event, in the order in which they were written. */
export interface RowChanges {
  /** `lost`: some rows were written, but it is not known which. Then `ids` is empty. */
  readonly event: ChangeEvent | 'lost'
  readonly table: Table
  readonly ids: readonly Id[]
  /** The values before rows were deleted or updated, one entry for each id, if a watcher needs them. */
  readonly past?: readonly (PastRow | undefined)[]
  /** The values of created or updated rows, one entry for each id, if a watcher needs them. */
  readonly now?: readonly PastRow[]
}

/** Values of some of a row's columns by their names: of deleted rows as the driver returns them, else as records have them. */
export type PastRow = Readonly<Record<string, unknown>>

/** The maximum number of bytes of one message. PostgreSQL accepts less than 8,000. */
const maxBytes = 7900

/**
 * Writes changes as messages, as many as needed: `["<origin>","item","created",[1,2,3]]`.
 *
 * @param origin identifies the sending process, so that it recognizes its own messages
 */
export function toMessages(origin: string, { event, table, ids, past, now }: RowChanges): string[] {
  const head = JSON.stringify([origin, table.name, event]).slice(0, -1)
  const messages: string[] = []
  let [idTexts, pastTexts, nowTexts]: [string[], string[], string[]] = [[], [], []]
  const room = maxBytes - Buffer.byteLength(head) - 8
  let remaining = room
  const flush = (): void => {
    const hasRows = past !== undefined || now !== undefined
    const rows = hasRows ? `,[${pastTexts.join(',')}]` : ''
    const written = now === undefined ? '' : `,[${nowTexts.join(',')}]`
    messages.push(`${head},[${idTexts.join(',')}]${rows}${written}]`)
    idTexts = []
    pastTexts = []
    nowTexts = []
    remaining = room
  }
  for (const [index, id] of ids.entries()) {
    const idText = JSON.stringify(id)
    let pastText =
      past !== undefined ? JSON.stringify(past[index] ?? null) : now === undefined ? '' : 'null'
    // Values that are too long are left out. A watcher that needs them gets a lost event.
    let nowText = now === undefined ? '' : JSON.stringify(now[index] ?? null)
    if (idText.length + Buffer.byteLength(pastText) + Buffer.byteLength(nowText) > room)
      pastText = nowText = 'null'
    const size = idText.length + Buffer.byteLength(pastText) + Buffer.byteLength(nowText) + 3
    if (size > remaining && idTexts.length > 0) flush()
    idTexts.push(idText)
    pastTexts.push(pastText)
    nowTexts.push(nowText)
    remaining -= size
  }
  if (idTexts.length > 0 || ids.length === 0) flush()
  return messages
}

/** @returns `undefined` for other texts, and for tables that this process does not use */
export function readMessage(
  text: string,
  tables: Iterable<Table>,
): { readonly origin: string; readonly changes: RowChanges } | undefined {
  const parts = tryParseJson(text)
  if (!Array.isArray(parts)) return undefined
  const [origin, name, event, ids, past, now] = parts as unknown[]
  const table = [...tables].find((one) => one.name === name)
  if (typeof origin !== 'string' || table === undefined || !isEvent(event)) return undefined
  if (!Array.isArray(ids) || !ids.every(isId)) return undefined
  if (!Array.isArray(past)) return { origin, changes: { event, table, ids } }
  const rows = (past as unknown[]).map((row) => (row as PastRow | null) ?? undefined)
  const written = Array.isArray(now)
    ? (now as (PastRow | null)[]).map((row) => row ?? {})
    : undefined
  return {
    origin,
    changes: { event, table, ids, past: rows, ...(written !== undefined && { now: written }) },
  }
}

const events: ReadonlySet<unknown> = new Set(['created', 'updated', 'deleted', 'lost'])

function isEvent(event: unknown): event is RowChanges['event'] {
  return events.has(event)
}

function isId(id: unknown): id is Id {
  return typeof id === 'string' || Number.isSafeInteger(id)
}

/**
 * A number for a table or a column, by which processes announce their subscriptions. If two share a number, the
 * only cost is an unneeded message.
 */
export function topicOf(table: Table, column?: Column): number {
  return toTopic(column === undefined ? table.name : `${table.name}.${column.name}`)
}

/** The topic of all rows of a table with old and new values: for watchers that need row values. */
export function topicOfRows(table: Table): number {
  return toTopic(`rows ${table.name}`)
}

/** The topic of a signal. No table has such a name. */
export function topicOfSignal(name: string): number {
  return toTopic(`signal ${name}`)
}

/** `["<origin>","signal","jobs"]` */
export function toSignal(origin: string, name: string): string {
  return JSON.stringify([origin, 'signal', name])
}

/** @returns `undefined` for other texts */
export function readSignal(
  text: string,
): { readonly origin: string; readonly name: string } | undefined {
  const parts = tryParseJson(text)
  if (!Array.isArray(parts) || parts.length !== 3) return undefined
  const [origin, word, name] = parts as unknown[]
  if (word !== 'signal' || typeof origin !== 'string' || typeof name !== 'string') return undefined
  return { origin, name }
}

function toTopic(name: string): number {
  let hash = 0
  for (const byte of Buffer.from(name)) hash = (Math.imul(hash, 31) + byte) | 0
  return hash >> 1
}
