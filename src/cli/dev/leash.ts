/**
 * Ends a process of `filigree dev` when that is gone, however it ended: a thread looks for it, so that an endless loop
 * or a call that waits holds nothing up.
 */

/** Milliseconds between two looks. */
const pace = 300

/** Code for `node --import`, for programs that are not ours. */
export function leashCode(): string {
  const watch = `
    const gone = () => {
      if (process.ppid !== parent) return true
      try { process.kill(parent, 0); return false } catch { return true }
    }
    setInterval(() => {
      if (!gone()) return
      // The process leads a group: what it has started ends with it.
      try { process.kill(-process.pid, 'SIGKILL') } catch { process.kill(process.pid, 'SIGKILL') }
    }, ${pace})`
  const code = `
    import { Worker } from 'node:worker_threads'
    const parent = 'const parent = ' + process.ppid
    new Worker(parent + ${JSON.stringify(watch)}, { eval: true, execArgv: [] }).unref()`
  return `data:text/javascript,${encodeURIComponent(code)}`
}
