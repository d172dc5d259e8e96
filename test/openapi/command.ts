/** Runs programs of the development dependencies, without a shell and without a network. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = normalize(join(dirname(fileURLToPath(import.meta.url)), '..', '..'))

export interface Outcome {
  readonly code: number
  /** Standard output, followed by standard error. */
  readonly output: string
}

/** Runs a script with the current Node.js, from the repository's root. */
export function runNode(...args: readonly string[]): Promise<Outcome> {
  const env = {
    ...process.env,
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    TSX_TSCONFIG_PATH: 'test/tsconfig.json',
  }
  // Options of the test run do not apply to the child process.
  delete (env as NodeJS.ProcessEnv).NODE_OPTIONS
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: root, env }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
      resolve({ code, output: stdout + stderr })
    })
  })
}

/**
 * A folder with these files that resolves the packages of a project. Removed after use.
 *
 * @param project the folder of the project. Default: the repository
 */
export async function withFolder<T>(
  files: Readonly<Record<string, string>>,
  use: (folder: string) => Promise<T>,
  project = root,
): Promise<T> {
  const parent = join(project, 'node_modules', '.cache')
  await mkdir(parent, { recursive: true })
  const folder = await mkdtemp(join(parent, 'filigree-'))
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
