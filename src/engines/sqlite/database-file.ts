/** The file of a database: creates it, and detects that it was deleted, replaced or written by another process. */
import { statSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Connection } from './connection.js'

/**
 * Creates a database file that only the user of the process can read: mode 0600, in a folder of mode 0700. SQLite gives
 * its `-wal` and `-shm` files the same mode. An existing file or folder keeps its mode.
 *
 * @throws {Error} a part of the folder's path is a file, or the folder is not writable
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
 * Detects that the files of an open database were deleted or replaced. SQLite keeps writing to the files it has opened,
 * and those writes are lost when the process ends. Source: SQLite, How To Corrupt An SQLite Database File, 4.4.
 */
export class FileWatch {
  readonly #paths: readonly string[]
  /** Device and inode by path, from the first check that finds the file. */
  readonly #openedInodes = new Map<string, string>()

  /** @param file a file that has just been opened */
  constructor(file: string) {
    this.#paths = [file, `${file}-wal`]
    this.isLost()
  }

  isLost(): boolean {
    return this.#paths.some((path) => {
      const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
      const inode = stats && `${stats.dev} ${stats.ino}`
      const openedInode = this.#openedInodes.get(path)
      if (openedInode === undefined && inode !== undefined) this.#openedInodes.set(path, inode)
      return openedInode !== undefined && inode !== openedInode
    })
  }
}

/**
 * Counts changes that other processes have committed. SQLite's `data_version` of a connection changes with each commit
 * of another connection, including the transaction connection of this process, whose commits are subtracted here.
 * Source: SQLite, PRAGMA data_version.
 */
export class ExternalWrites {
  readonly #main: Connection
  #lastVersion: number
  #count = 0

  /** @param main its own writes do not change its version */
  constructor(main: Connection) {
    this.#main = main
    this.#lastVersion = main.dataVersion()
  }

  /** @returns a number that differs from the last one if another process has written since */
  count(): number {
    const version = this.#main.dataVersion()
    if (version !== this.#lastVersion) this.#count++
    this.#lastVersion = version
    return this.#count
  }

  /**
   * Call it when a transaction begins on another connection. No other process can write until the transaction ends.
   *
   * @returns a function to call after the commit
   */
  trackTransaction(connection: Connection): () => void {
    this.count()
    const before = connection.dataVersion()
    return () => {
      // In this order: a process that writes between the two reads changes the version that is read last.
      this.#lastVersion = this.#main.dataVersion()
      if (connection.dataVersion() !== before) this.#count++
    }
  }
}
