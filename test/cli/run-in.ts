/** Runs `filigree …` in this process. */
import { runCommand } from '../../src/cli/run-command.js'

export interface Outcome {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** @param prompt the prompts of a terminal. Default: no terminal */
export async function runIn(
  cwd: string,
  args: readonly string[],
  prompt?: (text: string) => Promise<string>,
): Promise<Outcome> {
  let out = ''
  let err = ''
  const code = await runCommand(args, {
    out: (text) => Promise.resolve(void (out += text)),
    err: (text) => Promise.resolve(void (err += text)),
    cwd,
    ...(prompt && { prompt }),
  })
  return { code, out, err }
}
