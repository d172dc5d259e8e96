/** The body of a request, while it is read and afterwards. Set by `read-body.ts`. */
import type { UploadedFiles } from '../request.js'

/**
 * `form`: texts, which are converted. `upload`: a form with files, which has its own time limit. `plain`: any other body.
 */
export type BodyForm = 'plain' | 'form' | 'upload'

const noBytes = Buffer.alloc(0)

export class ReceivedBody {
  /** The value for the handler: parsed, and checked if the route declares a class. */
  value: unknown = undefined
  #unchecked: unknown = undefined
  /** The bytes, stored if the handler has the argument `rawBody`. */
  bytes: Buffer = noBytes
  files: UploadedFiles = {}
  /** The `formToken` that was removed from the value. */
  formToken: string | undefined = undefined
  form: BodyForm = 'plain'
  /** True once reading has begun, so that it is not read twice. */
  isRead = false
  /** Milliseconds within which it must arrive; undefined once it has arrived. */
  timeLimit: number | undefined

  constructor(timeLimit?: number) {
    this.timeLimit = timeLimit
  }

  /** The parsed value, before it was checked. */
  get sent(): unknown {
    return this.#unchecked === undefined ? this.value : this.#unchecked
  }

  /** Replaces the value by the result of its check. */
  setChecked(value: unknown): void {
    this.#unchecked = this.value
    this.value = value
  }
}
