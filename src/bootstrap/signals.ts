/** Closes every open application when the process is asked to end. */

const signals = ['SIGTERM', 'SIGINT'] as const
const open = new Set<Closable>()

interface Closable {
  close(): Promise<void>
}

/**
 * On SIGTERM or SIGINT the applications that are open close, then the process ends; a second signal ends it at once.
 *
 * @returns takes the application out again
 */
export function closeOnSignal(application: Closable): () => void {
  if (open.size === 0) for (const signal of signals) process.on(signal, closeAll)
  open.add(application)
  return () => {
    open.delete(application)
    if (open.size === 0) for (const signal of signals) process.off(signal, closeAll)
  }
}

let closing = false

function closeAll(signal: NodeJS.Signals): void {
  const code = signal === 'SIGINT' ? 130 : 143
  if (closing) process.exit(code)
  closing = true
  Promise.allSettled([...open].map((application) => application.close())).then(
    (results) => process.exit(results.every(({ status }) => status === 'fulfilled') ? 0 : 1),
    () => process.exit(1),
  )
}
