/** The types of bodies. Add new types to `bodyTypes`. Source: specification, Request body parsing. */
import { readQuery, type TextValues } from '../query.js'
import { formMedia, jsonMedia, otherMedia, textMedia, uploadMedia } from './body-plan.js'
import { readJson } from './json.js'
import { readText } from './text.js'

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
  /** The declared classes that may be sent in this type. Default none. */
  readonly takes?: 'fields' | 'fields and lists'
  /** The schema of any such body, for the document. Default: anything. */
  readonly schema?: { readonly type: 'object' | 'string' | 'array' }
}

export const bodyTypes: readonly BodyType[] = [
  {
    media: jsonMedia,
    covers: (essence) => essence.startsWith('application/') && essence.endsWith('+json'),
    read: readJson,
    takes: 'fields and lists',
  },
  { media: formMedia, read: readUrlencoded, takes: 'fields', schema: { type: 'object' } },
  { media: textMedia, read: readText, schema: { type: 'string' } },
  { media: uploadMedia, takes: 'fields', schema: { type: 'object' } },
  { media: otherMedia, read: readRaw },
]

/** By media type. */
export const bodyTypeOf: ReadonlyMap<string, BodyType> = new Map(
  bodyTypes.map((one) => [one.media, one]),
)

/** For routes without options for their bodies. */
export const anyMedia: readonly string[] = bodyTypes.map(({ media }) => media)
