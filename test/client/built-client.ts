/** The client as it is published, built into a folder that goes when the tests are done. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../..', import.meta.url))

export const builtFiles = ['filigree.mjs', 'filigree.min.js'] as const
export const addedFiles = ['live.mjs', 'live.min.js'] as const
export const passkeyFiles = ['passkeys.mjs', 'passkeys.min.js'] as const
export type BuiltFile =
  | (typeof builtFiles)[number]
  | (typeof addedFiles)[number]
  | (typeof passkeyFiles)[number]
  | `${(typeof builtFiles)[number]}.map`

export interface BuiltClient {
  readonly folder: string
  read(name: BuiltFile): Promise<string>
  remove(): Promise<void>
}

// A process of its own: bundlers do not run inside a test's realm.
export async function buildClient(): Promise<BuiltClient> {
  const folder = await mkdtemp(join(tmpdir(), 'filigree-client-'))
  await promisify(execFile)(process.execPath, ['client/build.mjs', folder], { cwd: root })
  return {
    folder,
    read: (name) => readFile(join(folder, name), 'utf8'),
    remove: () => rm(folder, { recursive: true }),
  }
}
