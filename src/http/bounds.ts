/** How much of an application clients may hold at a time. Source: docs/configuration.md, "Bounds". */
import type { Problem } from '../errors/declaration-error.js'

/** Each can be set for the application by `limits`; `Infinity` turns it off. */
export interface Bounds {
  /** Event streams and other answers of unknown length, of the whole process. Over it 503. Default 2,000. */
  readonly streams: number
  /** The same for one address. Over it 429. Default 100. */
  readonly streamsByAddress: number
  /** Changes that wait for one subscriber. Over it they are dropped, and it is told `EVENTS_LOST`. Default 1,000. */
  readonly events: number
  /** Sessions that one address may begin in a minute. Over it 429. Default 300. */
  readonly sessionsByAddress: number
  /** Open connections of the whole process. Over it 503. Default 10,000. */
  readonly connections: number
  /** The same for one peer; not counted behind a proxy (`trustProxy`). Over it 503. Default 2,000. */
  readonly connectionsByAddress: number
  /** Bytes of large answers that clients have not read, together. Over it the slowest clients are ended. Default 67,108,864. */
  readonly unread: number
  /** Bytes of WebSocket messages that have not arrived completely, together. Over it the oldest are closed. Default 67,108,864. */
  readonly unfinished: number
  /** Requests on one connection, which then is closed. Default 10,000. */
  readonly requests: number
  /** Bytes of an issuer's key set. A larger one is not read. Default 262,144. */
  readonly jwks: number
}

export const defaultBounds: Bounds = Object.freeze({
  streams: 2_000,
  streamsByAddress: 100,
  events: 1_000,
  sessionsByAddress: 300,
  connections: 10_000,
  connectionsByAddress: 2_000,
  unread: 64 * 1024 * 1024,
  unfinished: 64 * 1024 * 1024,
  requests: 10_000,
  jwks: 256 * 1024,
})

/** @param given values by the names of `Bounds`; others are left to whoever reads them */
export function resolveBounds(
  given: Readonly<Partial<Record<string, number | string>>>,
  problems: Problem[],
): Bounds {
  const bounds: Record<keyof Bounds, number> = { ...defaultBounds }
  for (const name of Object.keys(defaultBounds) as (keyof Bounds)[]) {
    const value = given[name]
    if (value === undefined) continue
    if (value === Infinity || (Number.isSafeInteger(value) && Number(value) >= 1)) {
      bounds[name] = Number(value)
      continue
    }
    problems.push({
      code: 'INVALID_OPTION',
      message: `bootstrap: limits.${name} is ${String(value)}.`,
      remedy: 'Give a whole number from 1, or Infinity for no limit.',
    })
  }
  return Object.freeze(bounds)
}
