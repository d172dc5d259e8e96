/** What every command of `filigree` is. */
import type { Terminal } from './terminal.js'

export interface Command {
  /** How it is written, and what it does. */
  readonly usage: string
  /** @returns the exit code @throws {UsageError} */
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<number>
}
