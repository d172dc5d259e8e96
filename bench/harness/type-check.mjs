/** Times the compiler on a page: a process of its own, from spawning it to its end. */
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const bench = fileURLToPath(new URL('..', import.meta.url))
const product = path.join(bench, '..')
const compiler = fileURLToPath(import.meta.resolve('typescript/bin/tsc'))
const settings = [
  ...['--ignoreConfig', '--noEmit', '--strict', '--noUncheckedIndexedAccess', '--skipLibCheck'],
  ...['--target', 'es2023', '--lib', 'es2023,dom', '--module', 'nodenext', '--types', 'null'],
]

/**
 * Writes the page's files into a folder of their own, where the built package and the packages of `bench/` are found.
 *
 * @param files `{ 'page.ts': text, … }`
 */
export async function writeFolder(files) {
  await mkdir(path.join(bench, 'dist'), { recursive: true })
  const folder = await mkdtemp(path.join(bench, 'dist', 'page-'))
  for (const [name, text] of Object.entries({ 'package.json': '{"type":"module"}', ...files })) {
    const file = path.join(folder, name)
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  await mkdir(path.join(folder, 'node_modules'))
  await symlink(product, path.join(folder, 'node_modules/filigree'), 'dir')
  return { folder, remove: () => rm(folder, { recursive: true }) }
}

function compile(folder, extra) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [compiler, ...settings, ...extra, 'page.ts'], {
      cwd: folder,
    })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(output)
      else reject(new Error(`the page does not compile: ${output.slice(0, 500)}`))
    })
  })
}

/** @returns milliseconds that `tsc --noEmit page.ts` takes, its own start and the platform's types included */
export async function timeTypeCheck(folder) {
  const start = performance.now()
  await compile(folder, [])
  return performance.now() - start
}

/** @returns how often the compiler instantiated a type; the same on every machine */
export async function countInstantiations(folder) {
  const output = await compile(folder, ['--extendedDiagnostics'])
  return Number(/Instantiations:\s+(\d+)/.exec(output)[1])
}
