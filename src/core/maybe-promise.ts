/**
 * A value that is available now or comes as a promise. These functions work with both, and make no promise where none
 * is needed.
 */

/** There now, or later. */
export type MaybePromise<T> = T | Promise<T>

/** True for promises of any library: whether a value is awaited must not depend on its class. */
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

/** Runs `run`; if it fails, now or later, gives what `failed` makes of the error. */
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
 * Runs, then continues with the result, or with what `failed` makes of the error: one promise for both.
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

/** Always gives a promise, also for an error that is thrown at once. */
export function promise<T>(run: () => MaybePromise<T>): Promise<T> {
  try {
    return Promise.resolve(run())
  } catch (error) {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown goes on as it is
    return Promise.reject(error)
  }
}
