/** Limits on what the clients of an application may use at a time. Source: docs/configuration.md, "Bounds". */
import type { Problems } from '../errors/problems.js'

/** Each can be set for the application by `limits`; `Infinity` turns it off. */
export interface Bounds {
  /** Event streams and other responses of unknown length in the process. Further ones get 503. Default 2,000. */
  readonly streams: number
  /** The same for one address. Further ones get 429. Default 100. */
  readonly streamsByAddress: number
  /** Changes that wait for one subscriber. Further ones are dropped, and the subscriber gets `EVENTS_LOST`. Default 1,000. */
  readonly events: number
  /** Sessions that one address may begin in a minute. Further ones get 429. Default 300. */
  readonly sessionsByAddress: number
  /** Open connections of the process. Further ones get 503. Default 10,000. */
  readonly connections: number
  /** The same for one peer; not counted behind a proxy (`trustProxy`). Further ones get 503. Default 2,000. */
  readonly connectionsByAddress: number
  /** Total bytes of large responses that clients have not read. Above it, the slowest clients are disconnected. Default 67,108,864. */
  readonly unread: number
  /** Total bytes of incomplete WebSocket messages. Above it, the oldest sockets are closed. Default 67,108,864. */
  readonly unfinished: number
  /** Requests on one connection, which is closed after the last one. Default 10,000. */
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

/** @param options values by name. Names that are not in `Bounds` are ignored */
export function resolveBounds(
  options: Readonly<Partial<Record<string, number | string>>>,
  problems: Problems,
): Bounds {
  const bounds: Record<keyof Bounds, number> = { ...defaultBounds }
  for (const name of Object.keys(defaultBounds) as (keyof Bounds)[]) {
    const value = options[name]
    if (value === undefined) continue
    if (value === Infinity || (Number.isSafeInteger(value) && Number(value) >= 1)) {
      bounds[name] = Number(value)
      continue
    }
    problems.add({
      code: 'INVALID_OPTION',
      message: `bootstrap: limits.${name} is ${String(value)}.`,
      remedy: 'Give a whole number from 1, or Infinity for no limit.',
    })
  }
  return Object.freeze(bounds)
}

/**
 * Limits of one request, with sizes in bytes. All of them can be set for the application, the first three also for a
 * route. Source: decisions, Requests.
 */
export interface Limits {
  /** A JSON, text, urlencoded or raw body. A larger one gets 413. */
  readonly body: number
  /** One uploaded file. A larger one gets 413. */
  readonly file: number
  /** A complete multipart body. A larger one gets 413. If only `file` is set, there is room for one such file. */
  readonly multipart: number
  /** Number of files in one multipart body. More get 413. */
  readonly files: number
  /** Number of text fields in one multipart body. More get 413. */
  readonly fields: number
  /** The headers of one part of a multipart body. Larger ones get 431. */
  readonly partHeader: number
  /** The request target. A longer one gets 414. */
  readonly url: number
  /** The cost of a client's list for the database, in points. A higher cost gets 400 `TOO_COSTLY`; `Infinity` disables the limit. */
  readonly cost: number
  /** The rows of one list of a client, in bytes as the database returns them. More get 400 `TOO_COSTLY`. */
  readonly rows: number
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
  rows: 32 * mebi,
})

/** Maximum levels of lists and objects in a JSON body. More get 400. */
export const maxJsonDepth = 64

/** Maximum bytes of all headers together. More get 431 from Node's parser. */
export const headBytes = 16 * kibi

/** A request with this number of headers, or more, gets 431. */
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
 * @returns bytes; `undefined` if the value is not a size
 */
export function readSize(size: number | string): number | undefined {
  if (typeof size === 'number') return Number.isSafeInteger(size) && size >= 0 ? size : undefined
  const match = /^(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)?$/i.exec(size.trim())
  if (match?.[1] === undefined) return undefined
  return Math.floor(Number(match[1]) * (units[match[2]?.toLowerCase() ?? 'b'] ?? 1))
}
