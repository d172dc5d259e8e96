/** The interface of the commands of `filigree`. */
import type { Terminal } from './terminal.js'

export interface Command {
  /** The help text: how it is called, and what it does. */
  readonly usage: string
  /** What it is for, for the list of all commands: begins with a small letter, without a full stop. */
  readonly summary: string
  /** @returns the exit code @throws {UsageError} */
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<number>
}
