/** Reads the CPU time of servers of PostgreSQL that run on this machine. Linux only, because it is read from /proc. */
import { readdirSync, readFileSync } from 'node:fs'

/** Microseconds per tick of the kernel's CPU accounting. */
const tick = 10_000

/** @returns the CPU time of all processes of these servers, in microseconds */
export function serverTime(servers: readonly number[]): number {
  let ticks = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const parts = readStat(pid)
    if (servers.includes(Number(pid)) || servers.includes(Number(parts[1])))
      ticks += Number(parts[11]) + Number(parts[12])
  }
  return ticks * tick
}

/** @returns the main process of the server to which a connection's process belongs */
export function serverOf(connection: number): number {
  const parent = Number(readStat(String(connection))[1])
  if (!(parent > 1))
    throw new Error(`The server with the process ${connection} is not on this machine.`)
  return parent
}

/** @returns the fields after the process name, which may contain blanks. Empty if the process has ended. */
function readStat(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
