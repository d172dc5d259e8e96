/** The request whose response is being written as JSON, for classes whose JSON depends on the caller. */
import type { ServerRequest } from './server-request.js'

let current: ServerRequest | undefined
let isHeeded = false

/** The request whose response is being written; undefined outside of responses. */
export function answeredRequest(): ServerRequest | undefined {
  return current
}

/** Called if a class needs the request of its response. From now on it is stored. */
export function heedCallers(): void {
  isHeeded = true
}

/** Whether responses may depend on their caller when they are written as JSON. */
export function areCallersHeeded(): boolean {
  return isHeeded
}

/** Writes the JSON of a response synchronously. If no class needs the request, it is not stored. */
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
