/** Processes that `filigree dev` starts: their lines, and their end. */
import type { ChildProcess } from 'node:child_process'

/** The process, and what it has started. */
export function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  for (const target of process.platform === 'win32' ? [pid] : [-pid, pid]) {
    try {
      process.kill(target, signal)
      return
    } catch {
      // It has ended already, or leads no group.
    }
  }
}

export function readLines(
  stream: NodeJS.ReadableStream | null,
  take: (line: string) => void,
): void {
  let rest = ''
  stream?.on('data', (data: Buffer) => {
    const lines = (rest + data.toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  })
}
