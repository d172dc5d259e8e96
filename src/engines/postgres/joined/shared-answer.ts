/** One answer for all calls that ask the same. Nobody can change what others have: rows are frozen, or each gets its own. */
import type { Row } from '../../contract/engine.js'
import type { WaitingCall } from './waiting-call.js'

/** Text that stands for these values and for no others. */
export function keyOfValues(values: readonly unknown[]): string {
  let key = ''
  for (const value of values) key += `${keyOf(value)},`
  return key
}

function keyOf(value: unknown): string {
  // Of JSON, NaN is null.
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${keyOfValues(value)}]`
  if (value instanceof Uint8Array) return `x${Buffer.from(value).toString('hex')}`
  return JSON.stringify(value)
}

/**
 * Gives them the same rows, frozen, where these hold nothing that could be changed; by that others know an answer which
 * several have. Else the first has the rows, and each other a copy.
 */
export function answerAll(calls: readonly WaitingCall[], rows: readonly Row[]): void {
  const [first] = calls
  if (first === undefined) return
  if (calls.length === 1) {
    first.answer(rows)
    return
  }
  const isFixed = rows.every((row) => row.every(isPrimitive))
  if (isFixed) for (const row of rows) Object.freeze(row)
  const answers = isFixed ? undefined : calls.map(() => rows.map((row) => row.map(copyOf)))
  if (isFixed) Object.freeze(rows)
  for (const [index, call] of calls.entries()) call.answer(answers?.[index] ?? rows)
}

function isPrimitive(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

function copyOf(value: unknown): unknown {
  if (isPrimitive(value)) return value
  return Buffer.isBuffer(value) ? Buffer.from(value) : structuredClone(value)
}
