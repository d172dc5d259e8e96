/** Functions for values that are available now or arrive as a promise. They create no promise unless one is needed. */

/** A value, or a promise of it. */
export type MaybePromise<T> = T | Promise<T>

/** True for promises of any library. Whether a value is awaited must not depend on its class. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { then?: unknown }).then === 'function'
  )
}

export function after<T, R>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<R>,
): MaybePromise<R> {
  return isThenable(value) ? value.then(next) : next(value)
}

/** Runs `run`. If it throws or rejects, returns what `failed` returns for the error. */
export function attempt<T>(
  run: () => MaybePromise<T>,
  failed: (error: unknown) => MaybePromise<T>,
): MaybePromise<T> {
  try {
    const running = run()
    return isThenable(running) ? running.catch(failed) : running
  } catch (error) {
    return failed(error)
  }
}

/**
 * Runs the function, then continues with the result, or with what `failed` returns for the error. Uses one promise for
 * both.
 */
export function settle<T, R>(
  run: () => MaybePromise<T>,
  next: (value: T) => MaybePromise<R>,
  failed: (error: unknown) => MaybePromise<R>,
): MaybePromise<R> {
  let running: MaybePromise<T>
  try {
    running = run()
  } catch (error) {
    return failed(error)
  }
  return isThenable(running) ? running.then(next, failed) : next(running)
}

/** Always returns a promise, even if `run` throws synchronously. */
export function promise<T>(run: () => MaybePromise<T>): Promise<T> {
  try {
    return Promise.resolve(run())
  } catch (error) {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- errors are passed on unchanged
    return Promise.reject(error)
  }
}

/** Returns the promise, if there is something to wait for. */
export function promiseOf(pending: void | Promise<void>): Promise<void> | undefined {
  return pending instanceof Promise ? pending : undefined
}
