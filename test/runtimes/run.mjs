/**
 * Runs the tests on each line of Node, the contract of databases on Bun and Deno, and hello and the atlas on all of them.
 *
 *     npm run test:runtimes                                  everything
 *     npm run test:runtimes -- test/records/sqlite           these suites only
 *     npm run test:runtimes -- --on node@24,bun test/records and on these runtimes only
 *
 * Each line of Node gets a copy of the project, in which `npm install` runs. The runtimes are npm packages.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { trySamples } from './samples.mjs'
import { runSuitesOn } from './suites.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const all = ['node@20', 'node@22', 'node@24', 'node@26', 'bun', 'deno']

const args = process.argv.slice(2)
const on = args.indexOf('--on')
const runtimes = on === -1 ? all : args.splice(on, 2)[1].split(',')
const patterns = args

const folder = mkdtempSync(join(tmpdir(), 'filigree-runtimes-'))
// PostgreSQL does not run as root, so another user starts its programs.
chmodSync(folder, 0o755)
const results = []
let built
try {
  for (const name of runtimes) await tryRuntime(name)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.table(results)
process.exitCode = results.some((row) => Object.values(row).includes('FAILED')) ? 1 : 0

async function tryRuntime(name) {
  const [kind] = name.split('@')
  const binary = installRuntime(name)
  const row = { runtime: `${kind} ${versionOf(binary)}` }
  results.push(row)
  if (kind === 'node') {
    built = installProject(join(folder, name), dirname(binary))
    row.tests = runTests(built, dirname(binary))
  }
  built ??= installProject(join(folder, 'project'), dirname(process.execPath))
  const command = kind === 'deno' ? [binary, 'run', '-A'] : [binary]
  if (kind !== 'node') row.tests = await runContract(command)
  try {
    row.driver = await trySamples(command, built)
    row.samples = 'passed'
  } catch (error) {
    console.error(error.message)
    row.samples = 'FAILED'
  }
}

async function runContract(command) {
  try {
    return `${await runSuitesOn(command, built)} of the contract passed`
  } catch (error) {
    console.error(error.message)
    return 'FAILED'
  }
}

/** @returns the runtime's executable */
function installRuntime(name) {
  const place = join(folder, `runtime-${name}`)
  mkdirSync(place)
  writeFileSync(join(place, 'package.json'), '{ "private": true }')
  npm(place, process.env, 'install', '--no-audit', '--no-fund', '--loglevel=error', name)
  return join(place, 'node_modules/.bin', name.split('@')[0])
}

function versionOf(binary) {
  const text = execFileSync(binary, ['--version'], { encoding: 'utf8' })
  return /\d+\.\d+\.\d+/.exec(text)[0]
}

/** A copy of the files in git, installed and built by this Node, with better-sqlite3 also where it is optional. */
function installProject(place, bin) {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  for (const file of files.trim().split('\n')) cpSync(join(root, file), join(place, file))
  const env = environment(bin)
  npm(place, env, 'install', '--no-audit', '--no-fund', '--loglevel=error')
  npm(place, env, 'run', 'build', '--silent')
  return place
}

function runTests(place, bin) {
  const env = environment(bin)
  const [node] = execFileSync('node', ['-p', 'process.versions.node'], {
    env,
    encoding: 'utf8',
  }).split('.')
  if (Number(node) >= 22) {
    npm(
      place,
      env,
      'install',
      '--no-save',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      'better-sqlite3@13',
    )
  }
  const args = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js']
  const all = ['test', 'long', 'slow'].map((kind) => `--testMatch=**/*.${kind}.ts`)
  const { status } = spawnSync('node', [...args, ...all, '--ci', '--maxWorkers=2', ...patterns], {
    cwd: place,
    env,
    stdio: 'inherit',
  })
  return status === 0 ? 'passed' : 'FAILED'
}

function environment(bin) {
  return { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
}

function npm(cwd, env, ...args) {
  execFileSync('npm', args, {
    cwd,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  })
}
