/**
 * Installs the packages of folders that have a `package.json` of their own: `node test/install.mjs docs test/tools`. What
 * only the documentation or other projects' tools need is there, so that `npm install` stays small. A folder is skipped if
 * its lock file is the one that was installed last.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')

for (const folder of process.argv.slice(2)) {
  const lock = readFileSync(join(root, folder, 'package-lock.json'))
  const hash = createHash('sha256').update(lock).digest('hex')
  // Written last, so an interrupted installation has none.
  const mark = join(root, folder, 'node_modules/.installed')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === hash) continue
  console.log(`Installing the packages of ${folder}`)
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: join(root, folder),
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  writeFileSync(mark, hash)
}
