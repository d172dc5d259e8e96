/** What a route says about the bodies it reads; made once, at bootstrap. */
import type { Limits } from '../limits.js'

export const jsonMedia = 'application/json'
export const formMedia = 'application/x-www-form-urlencoded'
export const textMedia = 'text/plain'
export const uploadMedia = 'multipart/form-data'
/** Any type that is not named beside it. */
export const otherMedia = '*/*'

export interface BodyPlan {
  readonly limits: Limits
  /** There must be a body: an empty one is 400. */
  readonly declared: boolean
  /**
   * The media types that the route documents; all others are 415. `application/json` covers `+json`. Default: any, where
   * there must be a body any that is parsed.
   */
  readonly media?: readonly string[]
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
