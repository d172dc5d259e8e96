/** The bodies that routes read: their types, and how each type is recognized and parsed. */
import type { Limits } from '../limits.js'

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
  /** Whether a body is required. An empty one gets 400. */
  readonly declared: boolean
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
