/** Runs `filigree …` in this process. */
import { runCommand } from '../../src/cli/run-command.js'

export interface Outcome {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** @param ask answers what a terminal is asked; without it there is none */
export async function runIn(
  cwd: string,
  args: readonly string[],
  ask?: (question: string) => Promise<string>,
): Promise<Outcome> {
  let out = ''
  let err = ''
  const code = await runCommand(args, {
    out: (text) => Promise.resolve(void (out += text)),
    err: (text) => Promise.resolve(void (err += text)),
    cwd,
    ...(ask && { prompt: ask }),
  })
  return { code, out, err }
}
