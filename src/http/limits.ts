/** Limits on what the clients of an application may use at a time. Source: docs/configuration.md, "Bounds". */
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

/** @param options values by the names of `Bounds`; others are left to whoever reads them */
export function resolveBounds(
  options: Readonly<Partial<Record<string, number | string>>>,
  problems: Problem[],
): Bounds {
  const bounds: Record<keyof Bounds, number> = { ...defaultBounds }
  for (const name of Object.keys(defaultBounds) as (keyof Bounds)[]) {
    const value = options[name]
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

/** How much of a request is read before it is refused. Source: decisions, Requests. */

/** Sizes in bytes. Every one can be set for the application, the first three for a route. */
export interface Limits {
  /** A JSON, text, urlencoded or raw body. Over it 413. */
  readonly body: number
  /** One uploaded file. Over it 413. */
  readonly file: number
  /** A whole multipart body. Over it 413. Where `file` alone is set, there is room for one such file. */
  readonly multipart: number
  /** Files in one multipart body. Over it 413. */
  readonly files: number
  /** Text fields in one multipart body. Over it 413. */
  readonly fields: number
  /** The headers of one part of a multipart body. Over it 431. */
  readonly partHeader: number
  /** The request target. Over it 414. */
  readonly url: number
  /** What a client's list may cost the database, in points. Over it 400 `TOO_COSTLY`; `Infinity` is no limit. */
  readonly cost: number
}

const kibi = 1024
const mebi = 1024 * kibi

export const defaultLimits: Limits = Object.freeze({
  body: mebi,
  file: 10 * mebi,
  multipart: 20 * mebi,
  files: 20,
  fields: 100,
  partHeader: 8 * kibi,
  url: 8 * kibi,
  cost: 5_000,
})

/** Levels of lists and objects in a JSON body. Deeper is 400. */
export const maxJsonDepth = 64

/** Bytes of the whole header block. Over it Node's parser gives up and the answer is 431. */
export const headBytes = 16 * kibi

/** A head with as many headers as this, or more, is answered with 431. */
export const maxHeaders = 2000

/** Room for the part headers and boundaries around one file. */
const multipartOverhead = 64 * kibi

/** Bytes of a multipart body with one file of `size` bytes. */
export function multipartAround(size: number): number {
  return size + multipartOverhead
}

const units: Readonly<Record<string, number>> = { b: 1, kb: kibi, mb: mebi, gb: 1024 * mebi }

/**
 * Reads a size: a number of bytes, or text such as `512kb`, `10mb`, `1.5 GB` (powers of 1024).
 *
 * @returns bytes, or `undefined` when it says no size
 */
export function readSize(size: number | string): number | undefined {
  if (typeof size === 'number') return Number.isSafeInteger(size) && size >= 0 ? size : undefined
  const match = /^(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)?$/i.exec(size.trim())
  if (match?.[1] === undefined) return undefined
  return Math.floor(Number(match[1]) * (units[match[2]?.toLowerCase() ?? 'b'] ?? 1))
}
