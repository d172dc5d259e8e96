/** Keeps the folder of a database to one process: two that write it at once would destroy it. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** Folders that this process has open. */
const held = new Set<string>()

/** @returns what gives the folder free, or the number of the process that has it */
export function lockFolder(folder: string): (() => void) | number {
  const place = resolve(folder)
  const file = `${place}.lock`
  const owner = held.has(place) ? process.pid : ownerOf(file)
  if (owner !== undefined) return owner
  writeFileSync(file, `${process.pid} ${birthOf(process.pid)}\n`)
  held.add(place)
  return () => {
    held.delete(place)
    rmSync(file, { force: true })
  }
}

/** A process that was killed leaves its file behind; another one may have its number since. */
function ownerOf(file: string): number | undefined {
  try {
    const [text = '', birth = ''] = readFileSync(file, 'utf8').trim().split(' ')
    const pid = Number(text)
    if (pid === process.pid || !Number.isSafeInteger(pid) || pid < 1) return undefined
    process.kill(pid, 0)
    return birthOf(pid) === birth ? pid : undefined
  } catch {
    // There is no file, or no such process.
    return undefined
  }
}

/** When a process began, where the system tells. */
function birthOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // Behind the name, which may have spaces and parentheses itself.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    return ''
  }
}
