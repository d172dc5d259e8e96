/** Reads the memory of a server's process. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const mebibyte = 2 ** 20

/** Starts a server with this to make `askMemory` possible. */
export const probeArgs = [
  '--expose-gc',
  '--import',
  new URL('memory-probe.mjs', import.meta.url).href,
]

/** One line of Linux's `/proc/<pid>/status` in MiB. */
function readStatus(pid, line) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${line}:\\s+(\\d+) kB`, 'm').exec(status)[1]) / 1024
}

/** Resident memory of a process in MiB. */
export function readResident(pid) {
  if (existsSync(`/proc/${pid}/status`)) return readStatus(pid, 'VmRSS')
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) / 1024
}

/**
 * Watches the peak of a process's resident memory: Linux keeps it exactly, elsewhere it is sampled.
 *
 * @returns `stop()`, which returns the peak in MiB since the call
 */
export function watchPeak(pid) {
  if (existsSync(`/proc/${pid}/clear_refs`)) {
    // 5 sets the kernel's own high-water mark back to what is resident now.
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
    return { stop: () => readStatus(pid, 'VmHWM') }
  }
  let peak = readResident(pid)
  const timer = setInterval(() => (peak = Math.max(peak, readResident(pid))), 100)
  return {
    stop() {
      clearInterval(timer)
      return peak
    },
  }
}

/**
 * Asks a server that was started with `probeArgs` what it holds after a full collection.
 *
 * @returns `{ held, resident }` in MiB; `held` is heap and buffers in use
 */
export async function askMemory({ child, pid }) {
  const held = await new Promise((resolve) => {
    child.once('message', (answer) => resolve(answer.held / mebibyte))
    child.send('memory?')
  })
  return { held, resident: readResident(pid) }
}
