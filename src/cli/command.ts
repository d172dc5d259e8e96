/** The interface of the commands of `filigree`. */
import type { Terminal } from './terminal.js'

export interface Command {
  /** The help text: how it is called, and what it does. */
  readonly usage: string
  /** @returns the exit code @throws {UsageError} */
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<number>
}
