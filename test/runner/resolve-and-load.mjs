/** Module hooks of Node.js: finds and compiles the modules of suites that Jest does not load. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join, resolve as resolvePath } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import transform from '../transform.mjs'

const root = resolvePath(import.meta.dirname, '../..')
const tests = pathToFileURL(join(root, 'test/')).href
const globals = new URL('globals.mjs', import.meta.url).href
const pglite = new URL('pglite.mjs', import.meta.url).href
const cache = join(root, 'node_modules/.cache/filigree-tests/modules')
await mkdir(cache, { recursive: true })

const packagePath = /^filigree(?:\/(.+))?$/

/** @returns the path of the TypeScript file of `filigree/…` */
function sourceOf(path) {
  if (path === undefined) return 'src/index.ts'
  if (path === 'client') return 'client/index.ts'
  if (path.startsWith('client/')) return `${path}.ts`
  return `src/modules/${path}/${path}.ts`
}

export async function resolve(specifier, context, next) {
  const { parentURL } = context
  const found = await find(specifier, context, next)
  if (parentURL?.startsWith(tests) !== true || !found.url.startsWith(tests)) return found
  // Each suite has its own instances of the modules below `test`.
  const suite = new URL(parentURL).search
  return { ...found, url: found.url.includes('?') ? found.url : found.url + suite }
}

async function find(specifier, context, next) {
  const { parentURL } = context
  if (specifier === '@jest/globals') return { url: globals, format: 'module', shortCircuit: true }
  if (specifier === '@electric-sql/pglite' && parentURL !== pglite)
    return { url: pglite, format: 'module', shortCircuit: true }
  const own = packagePath.exec(specifier)
  if (own !== null) {
    const url = pathToFileURL(join(root, sourceOf(own[1]))).href
    return { url, format: 'module', shortCircuit: true }
  }
  if (/^\.\.?\/.*\.js$/.test(specifier) && parentURL?.includes('/node_modules/') === false) {
    const url = new URL(specifier.replace(/\.js$/, '.ts'), parentURL)
    url.search = ''
    if (existsSync(url)) return { url: url.href, format: 'module', shortCircuit: true }
  }
  return next(specifier, context)
}

export async function load(url, context, next) {
  const [address] = url.split('?')
  if (!address.startsWith('file:') || !address.endsWith('.ts')) return next(url, context)
  return { format: 'module', source: await compile(fileURLToPath(address)), shortCircuit: true }
}

async function compile(path) {
  const text = await readFile(path, 'utf8')
  const key = transform.getCacheKey(text, path, { instrument: false })
  const file = join(cache, key)
  try {
    return await readFile(file, 'utf8')
  } catch {
    const { code, map } = transform.process(text, path)
    const comment = `//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString('base64')}`
    const result = `${code}\n${comment}\n`
    await writeFile(`${file}.${process.pid}`, result)
    await rename(`${file}.${process.pid}`, file)
    return result
  }
}
