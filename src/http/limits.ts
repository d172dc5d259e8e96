/** Limits on what the clients of an application may use at a time. Source: docs/configuration.md, "Bounds". */
import {
  declareOptions,
  type Option,
  type OptionsOf,
  type ValuesOf,
} from '../options/declare-options.js'
import { option } from '../options/option.js'

const kibi = 1024
const mebi = 1024 * kibi

const bound = (defaultValue: number): Option<number, number> =>
  option
    .of<number>(
      (value) => value === Infinity || (Number.isSafeInteger(value) && Number(value) >= 1),
      'Give a whole number from 1, or Infinity for no limit.',
    )
    .shown()
    .default(defaultValue)

/** Limits on what clients use together. `Infinity` turns one off. */
export const boundOptions = declareOptions({
  /** Event streams and other responses of unknown length in the process. Further ones get 503. Default 2,000. */
  streams: bound(2_000),
  /** The same for one address. Further ones get 429. Default 100. */
  streamsByAddress: bound(100),
  /** Changes that wait for one subscriber. Further ones are dropped, and the subscriber gets `EVENTS_LOST`. Default 1,000. */
  events: bound(1_000),
  /** Sessions that one address may begin in a minute. Further ones get 429. Default 300. */
  sessionsByAddress: bound(300),
  /** Open connections of the process. Further ones get 503. Default 10,000. */
  connections: bound(10_000),
  /** The same for one peer; not counted behind a proxy (`trustProxy`). Further ones get 503. Default 2,000. */
  connectionsByAddress: bound(2_000),
  /** Total bytes of large responses that clients have not read. Above it, the slowest clients are disconnected. Default 67,108,864. */
  unread: bound(64 * mebi),
  /** Total bytes of incomplete WebSocket messages. Above it, the oldest sockets are closed. Default 67,108,864. */
  unfinished: bound(64 * mebi),
  /** Requests on one connection, which is closed after the last one. Default 10,000. */
  requests: bound(10_000),
  /** Bytes of an issuer's key set. A larger one is not read. Default 262,144. */
  jwks: bound(256 * kibi),
})

export interface Bounds extends ValuesOf<typeof boundOptions> {}

export const defaultBounds: Bounds = boundOptions.read({})

const sizeRemedy = "Use bytes, or a size such as '10mb'."
const size = (defaultValue: number): Option<number | string, number> =>
  option.parsed<number | string, number>(readSize, sizeRemedy).shown().default(defaultValue)
const sizeOrOff = (defaultValue: number): Option<number | string, number> =>
  option
    .parsed<number | string, number>(
      (value) => (value === Infinity ? Infinity : readSize(value)),
      sizeRemedy,
    )
    .shown()
    .default(defaultValue)

const limitOptions = declareOptions({
  /** A JSON, text, urlencoded or raw body. A larger one gets 413. Default 1 MiB. */
  body: size(mebi),
  /** One uploaded file. A larger one gets 413. Default 10 MiB. */
  file: size(10 * mebi),
  /** A complete multipart body. A larger one gets 413. If only `file` is set, there is room for one such file. Default 20 MiB. */
  multipart: size(20 * mebi),
  /** Number of files in one multipart body. More get 413. Default 20. */
  files: size(20),
  /** Number of text fields in one multipart body. More get 413. Default 100. */
  fields: size(100),
  /** The headers of one part of a multipart body. Larger ones get 431. Default 8 KiB. */
  partHeader: size(8 * kibi),
  /** The request target. A longer one gets 414. Default 8 KiB. */
  url: size(8 * kibi),
  /** The cost of a client's list for the database, in points. A higher cost gets 400 `TOO_COSTLY`; `Infinity` disables the limit. Default 5,000. */
  cost: sizeOrOff(5_000),
  /** The rows of one list of a client, in bytes as the database returns them. More get 400 `TOO_COSTLY`. Default 32 MiB. */
  rows: sizeOrOff(32 * mebi),
})

/**
 * Limits of one request, with sizes in bytes. All of them can be set for the application, the first three also for a
 * route. Source: decisions, Requests.
 */
export interface Limits extends ValuesOf<typeof limitOptions> {}

export const defaultLimits: Limits = limitOptions.read({})

/** The option `limits` of `bootstrap`. */
export const limitsOptions = declareOptions({ ...limitOptions.all, ...boundOptions.all })

/** @returns the limits of a request. If only `file` is set, a multipart body has room for one such file */
export function resolveLimits(options: OptionsOf<typeof limitsOptions>): Limits {
  const limits = limitOptions.read(options)
  if (options.multipart !== undefined) return limits
  return Object.freeze({
    ...limits,
    multipart: Math.max(limits.multipart, multipartAround(limits.file)),
  })
}

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
export function readSize(size: unknown): number | undefined {
  if (typeof size === 'number') return Number.isSafeInteger(size) && size >= 0 ? size : undefined
  if (typeof size !== 'string') return undefined
  const match = /^(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)?$/i.exec(size.trim())
  if (match?.[1] === undefined) return undefined
  return Math.floor(Number(match[1]) * (units[match[2]?.toLowerCase() ?? 'b'] ?? 1))
}
