/**
 * The bodies that routes read: their types, and how each type is recognized and parsed. Add new types to `bodyTypes`.
 * Source: specification, Request body parsing.
 */

import type { Limits } from '../limits.js'
import { readQuery, type TextValues } from '../query-string.js'
import { readJson, readText } from './json.js'

export const jsonMedia = 'application/json'
export const formMedia = 'application/x-www-form-urlencoded'
export const textMedia = 'text/plain'
export const uploadMedia = 'multipart/form-data'
/** Any other type. */
export const otherMedia = '*/*'

/** A declared field of a form. */
export interface BodyField {
  /** The field contains bytes. Parts that are not files write them in base64. */
  readonly isBytes: boolean
}

/** The bodies that a route reads, decided once at the start. */
export interface BodyPlan {
  readonly limits: Limits
  /** Whether an empty body gets 400. */
  readonly isRequired: boolean
  /**
   * The media types that the route accepts. Other types get 415. `application/json` includes `+json`. Default: any type,
   * or any type that can be parsed if a body is required.
   */
  readonly media?: readonly string[]
  /** The fields of the declared class, by name. Default: no class, so that a part with a file name is a file. */
  readonly fields?: ReadonlyMap<string, BodyField>
  /**
   * `'taken'`: the handler gets files. `'unknown'`: they are rejected, because the handler has neither the argument
   * `files` nor `request`. `'dropped'`: they are ignored, like unknown keys of the route. Default `'taken'`.
   */
  readonly files?: 'taken' | 'unknown' | 'dropped'
  /**
   * Whether the handler has the argument `rawBody`. The bytes are then stored in addition to the value, and multipart
   * gets 415. Default false.
   */
  readonly keepsBytes?: boolean
  /**
   * Decides whether a multipart body may write files to the disk. Called once: before the first byte of the first file
   * is written, otherwise when all fields are read. Default: always.
   *
   * @param formToken as sent before the first file
   * @throws {HttpError} to reject the request; the rest of the body is not read
   */
  readonly beforeFirstFile?: (formToken: string | undefined) => void | Promise<void>
}

/** Returns the bytes of a body of any other media type unchanged, without a copy. Source: decisions, Requests. */
export function readRaw(bytes: Buffer): Buffer {
  return bytes
}

/**
 * Reads a form's `a=1&b=2` into an object. A repeated key becomes a list. Source: WHATWG URL,
 * application/x-www-form-urlencoded.
 *
 * @returns an object without a prototype
 * @throws {HttpError} 400 on invalid UTF-8, a malformed escape, a prototype key or too many pairs
 */
function readUrlencoded(bytes: Buffer): TextValues {
  return readQuery(readText(bytes))
}

/** Parses a complete body. @throws {HttpError} 400 for a malformed body */
export type BodyReader = (bytes: Buffer) => unknown

interface BodyType {
  readonly media: string
  /** Whether another media type, in lower case, is read as this one. */
  readonly covers?: (essence: string) => boolean
  /** Undefined for multipart, which is parsed in parts and never stored as bytes. */
  readonly read?: BodyReader
  /** The declared classes that can be sent in this type: of fields, also in lists, or none. Default none. */
  readonly classes?: 'fields' | 'fields and lists'
  /** The schema of any such body, for the document. Default: anything. */
  readonly schema?: { readonly type: 'object' | 'string' | 'array' }
}

export const bodyTypes: readonly BodyType[] = [
  {
    media: jsonMedia,
    covers: (essence) => essence.startsWith('application/') && essence.endsWith('+json'),
    read: readJson,
    classes: 'fields and lists',
  },
  { media: formMedia, read: readUrlencoded, classes: 'fields', schema: { type: 'object' } },
  { media: textMedia, read: readText, schema: { type: 'string' } },
  { media: uploadMedia, classes: 'fields', schema: { type: 'object' } },
  { media: otherMedia, read: readRaw },
]

/** By media type. */
export const bodyTypeOf: ReadonlyMap<string, BodyType> = new Map(
  bodyTypes.map((one) => [one.media, one]),
)

/** For routes without options for their bodies. */
export const allMedia: readonly string[] = bodyTypes.map(({ media }) => media)
