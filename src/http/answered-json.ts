/** Whose answer is being written while its JSON is made, for values that do not show everybody the same. */
import type { ServerRequest } from './server-request.js'

let current: ServerRequest | undefined
let isHeeded = false

/** The request whose answer is being written; undefined outside of answers. */
export function answeredRequest(): ServerRequest | undefined {
  return current
}

/** Some class looks at whose answer it is in: from now on it is said. */
export function heedCallers(): void {
  isHeeded = true
}

/** Makes text of an answer at once. Where no class looks, nothing is kept. */
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
