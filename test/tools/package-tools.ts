/** Checks the packed package with publint and "Are the types wrong?", and installs it into an empty folder. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installTool, npm, root, runTool } from './install.js'

let packed: string | undefined

/** The tarball, which is made once. */
function tarball(): string {
  if (packed === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'filigree-package-'))
    process.on('exit', () => {
      rmSync(folder, { recursive: true, force: true })
    })
    npm(root, 'pack', '--silent', '--pack-destination', folder)
    packed = join(folder, readdirSync(folder)[0] ?? '')
  }
  return packed
}

export function publint(): string {
  const { folder, version } = installTool('publint', ['publint@0.3.25'])
  const output = runTool(join(folder, 'node_modules/.bin/publint'), ['run', '--strict', tarball()])
  if (!output.includes('All good')) throw new Error(output)
  return `publint ${version}: nothing found`
}

/** The CommonJS entry only throws a message on purpose, because Node can require the ES module. */
export function attw(): string {
  const { folder, version } = installTool('attw', ['@arethetypeswrong/cli@0.18.5'])
  const options = ['--profile', 'esm-only', '--ignore-rules', 'false-esm', 'cjs-resolves-to-esm']
  runTool(join(folder, 'node_modules/.bin/attw'), [tarball(), ...options])
  return `attw ${version}: nothing found`
}

export function size(): string {
  const folder = mkdtempSync(join(tmpdir(), 'filigree-installed-'))
  try {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    npm(folder, 'install', '--no-audit', '--no-fund', '--loglevel=error', tarball())
    const packages = npm(folder, 'ls', '--all', '--parseable').trim().split('\n').length - 1
    const megabytes = (bytesBelow(join(folder, 'node_modules')) / 1_000_000).toFixed(1)
    return `${packages} packages, ${megabytes} MB installed on Node ${process.versions.node}`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function bytesBelow(folder: string): number {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}
