/**
 * `npm run test:mcp`: the official conformance suite of the Model Context Protocol against `samples/conformance`. It needs Node 22,
 * whichever runs here, so both are installed into a temporary folder. Fails unless every scored server scenario passes.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { freePort } from '../free-port.js'
import { waitUntil } from '../wait-until.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const packages = ['node@22.23.3', '@modelcontextprotocol/conformance@0.2.0-alpha.12']
const revision = '2026-07-28'
const scored = 37

async function startSample(port: number): Promise<ChildProcess> {
  const tsx = join(root, 'node_modules/.bin/tsx')
  const sample = spawn(tsx, ['--tsconfig', 'test/tsconfig.json', 'samples/conformance/main.ts'], {
    cwd: root,
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  try {
    await waitUntil(() =>
      fetch(`http://localhost:${port}/`).then(
        () => true,
        () => false,
      ),
    )
    return sample
  } catch {
    sample.kill()
    throw new Error('samples/conformance does not listen.')
  }
}

/** The suite exits with an error if anything fails, including extensions, so its output is read instead. */
async function outputOf(node: string, args: string[], cwd: string): Promise<string> {
  try {
    return (await run(node, args, { cwd, maxBuffer: 64 * 1024 * 1024 })).stdout
  } catch (error) {
    const { stdout } = error as { stdout?: string }
    if (stdout === undefined) throw error
    return stdout
  }
}

const folder = await mkdtemp(join(tmpdir(), 'filigree-mcp-'))
try {
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  await run('npm', ['install', '--no-audit', '--no-fund', ...packages], { cwd: folder })
  const port = await freePort()
  const sample = await startSample(port)
  try {
    const url = `http://localhost:${port}/mcp`
    const args = [
      'node_modules/.bin/conformance',
      'server',
      '--url',
      url,
      '--requirements',
      revision,
    ]
    const output = await outputOf(join(folder, 'node_modules/node/bin/node'), args, folder)
    const summary = output.slice(output.indexOf('=== SUMMARY ==='))
    const [results = '', unscored = ''] = summary.split('Not scored')
    process.stdout.write(summary)
    const isUnscored = (name: string): boolean => unscored.includes(` ${name} (`)
    const lines = [...results.matchAll(/^([✓✗]) ([\w-]+):/gm)]
    const passed = lines.filter(([, sign, name = '']) => sign === '✓' && !isUnscored(name)).length
    process.stdout.write(`\n${passed} of ${scored} scored scenarios of ${revision} pass.\n`)
    if (passed !== scored) process.exitCode = 1
  } finally {
    sample.kill()
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}
