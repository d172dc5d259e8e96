/** Tells what is there from what comes later, whoever made the promise. */

/** True for promises of any library; what is awaited must not depend on whose class it is. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { then?: unknown }).then === 'function'
  )
}
