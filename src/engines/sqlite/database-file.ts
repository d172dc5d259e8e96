/** Creates files and folders that only the process's user can read. */
import { statSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Connection } from './connection.js'

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

/**
 * Notices that somebody has deleted or replaced the files of an open database. SQLite goes on with what it has opened, and all
 * of that is gone when the process ends. Source: SQLite, How To Corrupt An SQLite Database File, 4.4.
 */

export class KeptFile {
  readonly #names: readonly string[]
  /** By name, from the first look that finds the file. */
  readonly #opened = new Map<string, string>()

  /** @param file has just been opened */
  constructor(file: string) {
    this.#names = [file, `${file}-wal`]
    this.isLost()
  }

  isLost(): boolean {
    return this.#names.some((name) => {
      const stats = statSync(name, { bigint: true, throwIfNoEntry: false })
      const found = stats && `${stats.dev} ${stats.ino}`
      const opened = this.#opened.get(name)
      if (opened === undefined && found !== undefined) this.#opened.set(name, found)
      return opened !== undefined && found !== opened
    })
  }
}

/**
 * Notices what other processes write, by the versions that each connection sees of its file: they change with what others
 * commit, so also with what the other connection of this process does, which is told apart here. Source: SQLite, PRAGMA
 * data_version.
 */

export class ForeignWrites {
  readonly #main: Connection
  #seen: number
  #count = 0

  /** @param main all that it writes itself leaves its version as it is */
  constructor(main: Connection) {
    this.#main = main
    this.#seen = main.version()
  }

  /** @returns another number than before, if somebody else has written meanwhile */
  look(): number {
    const version = this.#main.version()
    if (version !== this.#seen) this.#count++
    this.#seen = version
    return this.#count
  }

  /**
   * A transaction holds the lock, on another connection: until its end nobody else writes.
   *
   * @returns to be called when it is committed
   */
  begun(connection: Connection): () => void {
    this.look()
    const before = connection.version()
    return () => {
      // In this order: whoever writes from now on changes what is looked at last.
      this.#seen = this.#main.version()
      if (connection.version() !== before) this.#count++
    }
  }
}
