/** Times the compiler on a page: a process of its own, from spawning it to its end. */
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const bench = fileURLToPath(new URL('..', import.meta.url))
const product = path.join(bench, '..')
const compiler = fileURLToPath(import.meta.resolve('typescript/bin/tsc'))
const settings = [
  ...['--ignoreConfig', '--noEmit', '--extendedDiagnostics'],
  ...['--strict', '--noUncheckedIndexedAccess', '--skipLibCheck'],
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

/** More settings, for classes with decorators. */
export const decorated = [
  '--experimentalDecorators',
  ...['--lib', 'es2023,esnext.disposable,dom', '--types', 'node'],
  ...['--typeRoots', path.join(product, 'node_modules/@types')],
]

function compile(folder, more) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [compiler, ...settings, ...more, 'page.ts'], {
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

/**
 * Runs `tsc --noEmit page.ts` once.
 *
 * @param more settings of the compiler
 * @returns `check`, the milliseconds that the compiler says it checked types for; `whole`, those of its process, its own
 * start and the platform's types included; `instantiations`, how often it instantiated a type, the same on every machine
 */
export async function timeTypeCheck(folder, more = []) {
  const start = performance.now()
  const output = await compile(folder, more)
  const whole = performance.now() - start
  const read = (name) => Number(new RegExp(`${name}:\\s+([\\d.]+)`).exec(output)[1])
  return { check: read('Check time') * 1000, whole, instantiations: read('Instantiations') }
}
