/** Waits until the time is over or the signal aborts. */

/** @throws the signal's reason once it is aborted */
export async function wait(
  milliseconds: number,
  signal: AbortSignal | null | undefined,
): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
