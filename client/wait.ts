/** The waits between attempts. */

/**
 * Reads the header `Retry-After`, which has seconds or a date.
 *
 * @returns milliseconds from now, or undefined if the header is missing or not valid
 */
export function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('Retry-After') ?? ''
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now())
}

/** Waits until the time is over. @throws the signal's reason once it is aborted */
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
