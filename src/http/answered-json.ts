import type { ServerRequest } from './server-request.js'

/** Prototypes of instances that are plain JSON data, such as checked inputs and records. */
const dataPrototypes = new WeakSet<object>()

/** From now on, `isPlainData` is true for instances of the same class. */
export function rememberData(body: unknown): void {
  if (typeof body !== 'object' || body === null) return
  const prototype = Object.getPrototypeOf(body) as object | null
  if (prototype !== null) dataPrototypes.add(prototype)
}

/** Lists, plain objects and instances known to be data, which nearly all results are. Iterables are streams, not data. */
export function isPlainData(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return true
  const prototype = Object.getPrototypeOf(value) as object | null
  if (prototype !== Object.prototype && (prototype === null || !dataPrototypes.has(prototype))) {
    return false
  }
  return !(Symbol.asyncIterator in value) && !(Symbol.iterator in value)
}

/** @throws {TypeError} for values without JSON */
export function toJson(data: unknown): string {
  // The types promise text; functions and symbols give none.
  const content = JSON.stringify(data) as string | undefined
  if (content === undefined) {
    throw new TypeError(
      `A handler returned a ${typeof data}, which has no JSON. Return plain data.`,
    )
  }
  // Recognized by its tag, because naming the class would load the platform's fetch, a tenth of the start of a small
  // program.
  if (content === '{}' && Object.prototype.toString.call(data) === '[object Response]') {
    throw new TypeError(
      'A handler returned a web Response. Return its body, or reply(body, status).',
    )
  }
  return content
}

let current: ServerRequest | undefined
let dependsOnCaller = false

/** The request whose response is being written as JSON; undefined outside of responses. */
export function answeredRequest(): ServerRequest | undefined {
  return current
}

/** Call this if the JSON of a class depends on the caller. Only then does `answeredRequest` return the request. */
export function heedCallers(): void {
  dependsOnCaller = true
}

/** Whether the JSON of any class depends on the caller. */
export function areCallersHeeded(): boolean {
  return dependsOnCaller
}

/** Writes the JSON of a response synchronously. */
export function writeFor(
  request: ServerRequest | undefined,
  write: (value: unknown) => string,
  value: unknown,
): string {
  if (!dependsOnCaller) return write(value)
  const outer = current
  current = request
  try {
    return write(value)
  } finally {
    current = outer
  }
}
