/** Reads the processor time of a server's process: steadier than requests per second where others use the machine too. */
import { existsSync, readFileSync } from 'node:fs'

/** Linux counts in hundredths of a second, whatever the kernel's own clock. */
const ticksPerSecond = 100

/** Microseconds that all threads of a process have run, in user and kernel; `undefined` where there is no `/proc`. */
export function readProcessorTime(pid) {
  const file = `/proc/${pid}/stat`
  if (!existsSync(file)) return undefined
  const stat = readFileSync(file, 'utf8')
  // The second field, the name in brackets, may hold spaces; user and kernel time are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) / ticksPerSecond) * 1e6
}
