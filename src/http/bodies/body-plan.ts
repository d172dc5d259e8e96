/** The bodies that a route reads, decided once at bootstrap. */
import type { Limits } from '../limits.js'

export const jsonMedia = 'application/json'
export const formMedia = 'application/x-www-form-urlencoded'
export const textMedia = 'text/plain'
export const uploadMedia = 'multipart/form-data'
/** Any type that is not listed. */
export const otherMedia = '*/*'

/** A declared field of a form. */
export interface BodyField {
  /** The field contains bytes. Parts that are not files write them in base64. */
  readonly isBytes: boolean
}

export interface BodyPlan {
  readonly limits: Limits
  /** Whether a body is required. An empty one is 400. */
  readonly declared: boolean
  /**
   * The media types that the route documents. All others are 415. `application/json` includes `+json`. Default: any
   * type, or any type that can be parsed if a body is required.
   */
  readonly media?: readonly string[]
  /** The fields of the class that the route declares, by name. Default: no class, so that a part with a file name is a file. */
  readonly fields?: ReadonlyMap<string, BodyField>
  /**
   * What happens to files: the handler gets them; they are rejected as unknown, because it has neither the argument
   * `files` nor `request`; or they are dropped, like unknown keys of the route. Default `'taken'`.
   */
  readonly files?: 'taken' | 'unknown' | 'dropped'
  /**
   * Whether the handler has the argument `rawBody`: the bytes are stored in addition to the value, and multipart is
   * 415. Default false.
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
