/**
 * Checks a release before it is published: builds and packs the package, creates a project with the tarball in an empty
 * folder on each line of Node, runs the project's tests, types and build, and prints the differences of the declarations to the
 * previous release.
 *
 *     npm run release                                  on all lines, compared with the newest in the registry
 *     npm run release -- --on node@20,node@24          on these lines only
 *     npm run release -- --against filigree-0.1.0.tgz  compared with this tarball
 *
 * It exits with 1 if something fails, or if a name or an entry of the previous release is missing, unless the major
 * version (before 1.0.0: the minor version) is higher. The tarball stays in dist.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { comparePublicApis, readPublicApi } from './public-api.js'

const root = resolve(import.meta.dirname, '../..')
// This program was started with it. The created projects have their own settings.
delete process.env.TSX_TSCONFIG_PATH
const { values } = parseArgs({
  options: {
    on: { type: 'string', default: 'node@20,node@22,node@24,node@26' },
    against: { type: 'string' },
  },
})

const folder = mkdtempSync(join(tmpdir(), 'filigree-release-'))
const failed: string[] = []
try {
  const tarball = pack()
  for (const runtime of values.on.split(',')) tryOn(runtime, tarball)
  compare(tarball)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.log(failed.length === 0 ? 'ready' : `NOT ready: ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1

interface Packed {
  readonly filename: string
  readonly size: number
  readonly entryCount: number
}

function pack(): string {
  npm(root, process.env, 'run', 'build', '--silent')
  const target = join(root, 'dist')
  const text = npm(
    root,
    process.env,
    'pack',
    '--ignore-scripts',
    '--json',
    '--pack-destination',
    target,
  )
  const [{ filename, size, entryCount }] = JSON.parse(text) as [Packed]
  console.log(`packed  ${filename}: ${entryCount} files, ${(size / 1e6).toFixed(1)} MB`)
  return join(target, filename)
}

/** Creates and tests a project with the tarball, with only this line of Node in the PATH. */
function tryOn(runtime: string, tarball: string): void {
  const place = join(folder, runtime)
  mkdirSync(place)
  writeFileSync(join(place, 'package.json'), '{ "private": true }')
  npm(place, process.env, 'install', '--no-audit', '--no-fund', '--loglevel=error', runtime)
  const bin = join(place, 'node_modules/.bin')
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
  npm(place, env, 'install', '--no-audit', '--no-fund', '--loglevel=error', tarball)
  const steps = [
    [place, 'npx', 'filigree', 'new', 'desk', '--yes'],
    [join(place, 'desk'), 'npm', 'test'],
    [join(place, 'desk'), 'npm', 'run', 'types'],
    [join(place, 'desk'), 'npm', 'run', 'build'],
  ]
  for (const [cwd = '', command = '', ...args] of steps) {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
    if (status === 0) continue
    console.error(`${runtime}: ${command} ${args.join(' ')}\n${stdout}${stderr}`)
    failed.push(`${runtime} (${args.join(' ')})`)
    return
  }
  const version = execFileSync('node', ['--version'], { env, encoding: 'utf8' }).trim()
  console.log(`passed  a new project on Node ${version}`)
}

function compare(tarball: string): void {
  const last = values.against === undefined ? packed() : resolve(values.against)
  if (last === undefined) {
    console.log('declarations: no release before this one')
    return
  }
  const before = unpack('before', last)
  const now = unpack('now', tarball)
  const { removed, changed, added } = comparePublicApis(readPublicApi(before), readPublicApi(now))
  const versions = [before, now].map((place) => readPackage(place).version)
  console.log(`declarations: ${versions.join(' → ')}`)
  for (const [word, names] of Object.entries({ removed, changed, added }))
    for (const name of names) console.log(`  ${word.padEnd(7)} ${name}`)
  const [old = [], next = []] = versions.map((version) => version.split('.'))
  const mayBreak = old[0] !== next[0] || (old[0] === '0' && old[1] !== next[1])
  if (removed.length > 0 && !mayBreak) failed.push('names are removed from the declarations')
}

/** @returns the newest release in the registry, if there is one */
function packed(): string | undefined {
  const { name } = readPackage(root)
  const args = ['pack', `${name}@latest`, '--json', '--pack-destination', folder]
  const { status, stdout } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' })
  return status === 0 ? join(folder, (JSON.parse(stdout) as [Packed])[0].filename) : undefined
}

/** @returns the folder of the installed package, with the packages that its declarations import */
function unpack(name: string, tarball: string): string {
  const place = join(folder, name)
  mkdirSync(place)
  writeFileSync(join(place, 'package.json'), '{ "private": true }')
  npm(
    place,
    process.env,
    'install',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    '--omit=optional',
    tarball,
  )
  return join(place, 'node_modules', readPackage(root).name)
}

function readPackage(place: string): { readonly name: string; readonly version: string } {
  const text = readFileSync(join(place, 'package.json'), 'utf8')
  return JSON.parse(text) as { name: string; version: string }
}

function npm(cwd: string, env: NodeJS.ProcessEnv, ...args: string[]): string {
  return execFileSync('npm', args, {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}
