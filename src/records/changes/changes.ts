/** What is told of rows that were written, and how it travels between processes as short texts. */
import type { Class } from '../../metadata/note.js'
import type { Id } from '../filters/list-options.js'
import type { Column, Table } from '../model/table.js'

export type ChangeEvent = 'created' | 'updated' | 'deleted'

/** A row was written. Told after it is committed. */
export interface Change {
  readonly event: ChangeEvent
  /** The row's class. */
  readonly record: Class
  /** The row's key. */
  readonly id: Id
}

/** Rows of one table that were written alike, in the order of their writing. */
export interface RowChanges {
  /** `lost`: some rows were written, and which ones nobody can say any more. `ids` is empty then. */
  readonly event: ChangeEvent | 'lost'
  readonly table: Table
  readonly ids: readonly Id[]
  /** Of deleted rows, where somebody who listens needs it to tell whose they were: one for each id. */
  readonly past?: readonly (PastRow | undefined)[]
}

/** What some columns of a row held before it was deleted, as the driver gives it, by the column's name. */
export type PastRow = Readonly<Record<string, unknown>>

/** Bytes of one text. PostgreSQL takes less than 8,000. */
const mostBytes = 7900

/**
 * Writes changes as texts, as many as it takes: `["<origin>","item","created",[1,2,3]]`.
 *
 * @param origin the process that speaks, by which it knows its own texts again
 */
export function toMessages(origin: string, { event, table, ids, past }: RowChanges): string[] {
  const head = JSON.stringify([origin, table.name, event]).slice(0, -1)
  const messages: string[] = []
  let [idTexts, pastTexts]: [string[], string[]] = [[], []]
  const room = mostBytes - Buffer.byteLength(head) - 8
  let left = room
  const flush = (): void => {
    const rows = past === undefined ? '' : `,[${pastTexts.join(',')}]`
    messages.push(`${head},[${idTexts.join(',')}]${rows}]`)
    idTexts = []
    pastTexts = []
    left = room
  }
  for (const [index, id] of ids.entries()) {
    const idText = JSON.stringify(id)
    let pastText = past === undefined ? '' : JSON.stringify(past[index] ?? null)
    // What is too long to travel is missing: who needs it is told that an event was lost.
    if (idText.length + Buffer.byteLength(pastText) > room) pastText = 'null'
    const size = idText.length + Buffer.byteLength(pastText) + 2
    if (size > left && idTexts.length > 0) flush()
    idTexts.push(idText)
    pastTexts.push(pastText)
    left -= size
  }
  if (idTexts.length > 0 || ids.length === 0) flush()
  return messages
}

/** @returns `undefined` for a text that is none of these, and for tables that nobody here knows */
export function readMessage(
  text: string,
  tables: Iterable<Table>,
): { readonly origin: string; readonly changes: RowChanges } | undefined {
  const parts = parse(text)
  if (!Array.isArray(parts)) return undefined
  const [origin, name, event, ids, past] = parts as unknown[]
  const table = [...tables].find((one) => one.name === name)
  if (typeof origin !== 'string' || table === undefined || !isEvent(event)) return undefined
  if (!Array.isArray(ids) || !ids.every(isId)) return undefined
  if (!Array.isArray(past)) return { origin, changes: { event, table, ids } }
  const rows = (past as unknown[]).map((row) => (row as PastRow | null) ?? undefined)
  return { origin, changes: { event, table, ids, past: rows } }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
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
 * A number for a table, or for a column of it, by which processes tell each other what they listen to. Two of one number
 * cost a message that nobody wanted.
 */
export function topicOf(table: Table, column?: Column): number {
  const name = column === undefined ? table.name : `${table.name}.${column.name}`
  let hash = 0
  for (const byte of Buffer.from(name)) hash = (Math.imul(hash, 31) + byte) | 0
  return hash >> 1
}
