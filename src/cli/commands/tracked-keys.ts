/** Finds private keys and the operator's key in files that git tracks. */
import { spawnSync } from 'node:child_process'
import { minKeyLength } from '../../auth/gate.js'
import type { Finding } from './doctor-checks.js'

/** POSIX extended expressions, because git searches the files. */
const patterns = [
  '-----BEGIN ([A-Z]+ )*PRIVATE KEY-----',
  // Placeholders such as ${{ secrets.KEY }} and <key> do not match.
  `APP_API_KEY["']?[[:space:]]*[=:][[:space:]]*["']?[[:alnum:]+/_=-]{${minKeyLength},}`,
]

/** Keys of tests are public on purpose. */
const testFolder = /(?:^|\/)(?:tests?|__tests__|spec|fixtures|__fixtures__)\//

/** @returns one finding for each tracked file with a key. Empty without git, or outside of a repository */
export function examineTrackedFiles(cwd: string): Finding[] {
  const about = 'tracked files'
  const files = findTrackedKeys(cwd)
  if (files === undefined) return []
  if (files.length === 0) return [{ about, state: 'ok', what: 'git tracks no keys' }]
  return files.map((file) => ({
    about,
    state: testFolder.test(file) ? 'note' : 'fault',
    what: `${file} contains a key, and git tracks it`,
    remedy: `Create new keys, because old commits keep these. Then run git rm --cached ${file}, and add it to .gitignore.`,
  }))
}

/** @returns paths relative to the folder, or undefined if git cannot search it */
function findTrackedKeys(cwd: string): string[] | undefined {
  const expressions = patterns.flatMap((pattern) => ['-e', pattern])
  const { status, stdout } = spawnSync(
    'git',
    ['grep', '--files-with-matches', '--null', '-I', '--extended-regexp', ...expressions],
    { cwd, encoding: 'utf8', timeout: 20_000 },
  )
  // git grep exits with 1 if nothing matches.
  if (status !== 0 && status !== 1) return undefined
  return stdout.split('\0').filter((file) => file !== '')
}
