/** The request whose answer is being turned into JSON, for values that show each caller something else. */
import type { ServerRequest } from './server-request.js'

let current: ServerRequest | undefined
let isHeeded = false

/** The request whose answer is being written; undefined outside of answers. */
export function answeredRequest(): ServerRequest | undefined {
  return current
}

/** A class needs to know the request of its answer: from now on it is kept. */
export function heedCallers(): void {
  isHeeded = true
}

/** Answers may depend on their caller wherever they are turned into JSON. */
export function areCallersHeeded(): boolean {
  return isHeeded
}

/** Makes the JSON of an answer synchronously. If no class needs the request, nothing is kept. */
export function writeFor(
  request: ServerRequest | undefined,
  write: (value: unknown) => string,
  value: unknown,
): string {
  if (!isHeeded) return write(value)
  const outer = current
  current = request
  try {
    return write(value)
  } finally {
    current = outer
  }
}
