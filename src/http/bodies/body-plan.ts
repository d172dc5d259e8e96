/** What a route says about the bodies it reads; made once, at bootstrap. */
import type { Limits } from '../limits.js'

export interface BodyPlan {
  readonly limits: Limits
  /** The route names a class for its body: an empty body is 400, an unknown media type 415. */
  readonly declared: boolean
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
