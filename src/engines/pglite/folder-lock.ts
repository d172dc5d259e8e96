/** Locks the folder of a database, because two processes that write to it would destroy it. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { DeclarationError } from '../../errors/declaration-error.js'

/** Folders that this process has opened. */
const openFolders = new Set<string>()

/**
 * Locks a folder.
 *
 * @returns a function that unlocks it
 * @throws {DeclarationError} `DATABASE_UNREADABLE` if another process has locked it
 */
export function lockFolder(folder: string): () => void {
  const path = resolve(folder)
  const file = `${path}.lock`
  const owner = openFolders.has(path) ? process.pid : ownerOf(file)
  if (owner !== undefined) throw folderInUseError(folder, owner)
  writeFileSync(file, `${process.pid} ${startTimeOf(process.pid)}\n`)
  openFolders.add(path)
  return () => {
    openFolders.delete(path)
    rmSync(file, { force: true })
  }
}

/**
 * The process that owns a lock file. A killed process leaves its file, and its id may belong to another process now.
 */
function ownerOf(file: string): number | undefined {
  try {
    const [text = '', startTime = ''] = readFileSync(file, 'utf8').trim().split(' ')
    const pid = Number(text)
    if (pid === process.pid || !Number.isSafeInteger(pid) || pid < 1) return undefined
    process.kill(pid, 0)
    return startTimeOf(pid) === startTime ? pid : undefined
  } catch {
    // The file or the process does not exist.
    return undefined
  }
}

/** The start time of a process, if the system reports it. */
function startTimeOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The fields after the name, which may contain spaces and parentheses.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    return ''
  }
}

function folderInUseError(folder: string, pid: number): DeclarationError {
  return new DeclarationError([
    {
      code: 'DATABASE_UNREADABLE',
      message: `The database ${folder} is in use by process ${pid}, and has one process at a time.`,
      remedy: 'End that process first, or use a server: DATABASE_URL=postgres://….',
    },
  ])
}
