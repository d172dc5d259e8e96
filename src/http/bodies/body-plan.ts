/** What a route says about the bodies it reads; made once, at bootstrap. */
import type { Limits } from '../limits.js'

export const jsonMedia = 'application/json'
export const formMedia = 'application/x-www-form-urlencoded'
export const textMedia = 'text/plain'
export const uploadMedia = 'multipart/form-data'
/** Any type that is not named beside it. */
export const otherMedia = '*/*'

/** A declared field of a form. */
export interface BodyField {
  /** The field holds bytes, which other fields than files write in base64. */
  readonly isBytes: boolean
}

export interface BodyPlan {
  readonly limits: Limits
  /** There must be a body: an empty one is 400. */
  readonly declared: boolean
  /**
   * The media types that the route documents; all others are 415. `application/json` covers `+json`. Default: any, where
   * there must be a body any that is parsed.
   */
  readonly media?: readonly string[]
  /** The fields of the class that the route declares, by name. Default: no class, so that a part with a file name is a file. */
  readonly fields?: ReadonlyMap<string, BodyField>
  /**
   * What becomes of files: the handler gets them; they are refused as unknown, because it names neither `files` nor
   * `request`; or they are dropped, as unknown keys of the route are. Default `'taken'`.
   */
  readonly files?: 'taken' | 'unknown' | 'dropped'
  /** The handler names `rawBody`: the bytes are kept beside the value, and multipart is 415. Default false. */
  readonly keepsBytes?: boolean
  /**
   * Decides whether a multipart body may leave anything on the disk. Called once: before the first byte of the first
   * file is written, else when all fields are read. Default: everything may.
   *
   * @param formToken as sent before the first file
   * @throws {HttpError} to refuse; the rest of the body is not read
   */
  readonly beforeFirstFile?: (formToken: string | undefined) => void | Promise<void>
}
