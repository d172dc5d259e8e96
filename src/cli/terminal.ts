/** Input and output of a command, so that tests can run it without a process. */

export interface Terminal {
  /** Writes to standard output; resolves once it is written. */
  readonly out: (text: string) => Promise<void>
  /** Writes to standard error. */
  readonly err: (text: string) => Promise<void>
  /** The folder that paths are relative to, and in which `package.json` is read. */
  readonly cwd: string
  /** True where somebody looks at it who sees colours. Default false. */
  readonly hasColours?: boolean
  /** Lets the process import a source; undefined where it can already. */
  readonly loadSources?: ((file: string) => Promise<void>) | undefined
  /** Asks a question and reads a line; undefined where nobody is there to answer. */
  readonly ask?: ((question: string) => Promise<string>) | undefined
}

/** The command was called wrongly: the message and the command's help are shown, and the exit code is 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

/** Exit codes of every command. */
export const exitCodes = { done: 0, failed: 1, usage: 2 } as const
