/** Runs `filigree …` in this process. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from '@jest/globals'
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

/** Gives each test an empty folder to run commands in. */
export function useFolder(): {
  readonly folder: string
  readonly run: (...args: string[]) => Promise<Outcome>
} {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filigree-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))
  return {
    get folder() {
      return folder
    },
    run: (...args) => runIn(folder, args),
  }
}
