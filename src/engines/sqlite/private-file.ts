/** Creates files and folders that only the process's user can read. */
import { closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a database's file with mode 0600, in a folder of mode 0700. SQLite gives the files beside it (`-wal`, `-shm`) the
 * same mode. What exists stays as it is.
 *
 * @throws {Error} a part of the folder's path is a file, or nothing can be written there
 */
export function createPrivateFile(file: string): void {
  createFolder(dirname(file), 0o700)
  closeSync(openSync(file, 'a', 0o600))
}

function createFolder(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { recursive: true, mode })
  } catch (cause) {
    for (let path = folder; path !== dirname(path); path = dirname(path))
      if (statSync(path, { throwIfNoEntry: false })?.isFile() === true)
        throw new Error(`${path} is a file, and a folder of this name is needed`, { cause })
    throw cause
  }
}
