/**
 * Notices that somebody has deleted or replaced the files of an open database. SQLite goes on with what it has opened, and all
 * of that is gone when the process ends. Source: SQLite, How To Corrupt An SQLite Database File, 4.4.
 */
import { statSync } from 'node:fs'

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
