/**
 * Notices what other processes write, by the versions that each connection sees of its file: they change with what others
 * commit, so also with what the other connection of this process does, which is told apart here. Source: SQLite, PRAGMA
 * data_version.
 */
import type { Connection } from './connection.js'

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
