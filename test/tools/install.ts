/** Installs tools that are too large for `npm install` into separate folders below `node_modules/.cache`. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const cache = join(root, 'node_modules/.cache/filigree-tools')

export interface Installed {
  readonly folder: string
  readonly version: string
}

/** @param packages the tool with its version, and further packages: `['publint@0.3.25']` */
export function installTool(name: string, packages: readonly string[]): Installed {
  const folder = join(cache, name)
  const expected = JSON.stringify({ private: true, tools: packages })
  // Written last, so an interrupted installation has none.
  const mark = join(folder, 'tools.json')
  const isInstalled = existsSync(mark) && readFileSync(mark, 'utf8') === expected
  if (!isInstalled) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    npm(folder, 'install', '--no-audit', '--no-fund', '--loglevel=error', ...packages)
    writeFileSync(mark, expected)
  }
  const [tool = ''] = packages
  const packageFile = join(
    folder,
    'node_modules',
    tool.slice(0, tool.lastIndexOf('@')),
    'package.json',
  )
  const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }
  return { folder, version }
}

export function npm(cwd: string, ...args: readonly string[]): string {
  return execFileSync('npm', args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    shell: process.platform === 'win32',
  })
}

/** @throws {Error} with the output of the tool */
export function runTool(
  command: string,
  args: readonly string[],
  cwd = root,
  env = process.env,
): string {
  try {
    const stdio = ['ignore', 'pipe', 'pipe'] as const
    return execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: [...stdio] })
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${command} ${args.join(' ')}\n${stdout}\n${stderr}`)
  }
}
