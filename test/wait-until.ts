/** Waiting for a condition. It replaces sleeps, which are too short on a busy machine and too long on every other. */

/** Milliseconds between two checks, in which the event loop and other processes continue. */
const interval = 5

/**
 * Waits until the condition holds, and checks it again and again.
 *
 * @param timeout milliseconds after which the test fails: shorter than Jest's timeout, which does not name the condition
 */
export async function waitUntil(isReached: () => unknown, timeout = 120_000): Promise<void> {
  const end = performance.now() + timeout
  while (!(await isReached())) {
    if (performance.now() > end)
      throw new Error(`not reached within ${timeout} ms: ${isReached.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, interval))
  }
}
