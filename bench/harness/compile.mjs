/** Compiles the contenders that are written with decorators, with the metadata that Nest needs. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import ts from 'typescript'

const bench = fileURLToPath(new URL('..', import.meta.url))

const compilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
}

/** What contenders import of Filigree. */
const built = /(?:\.\.\/)+dist\/server\//g

/**
 * Writes each `servers/<row>/<name>.ts` to `dist/<row>/<name>.mjs`, and its imports next to it.
 *
 * @param beside another checkout that is built: the same files are also written to `dist/beside`, which imports it
 */
export async function compileServers(beside) {
  await compileInto('dist', (text) => text)
  if (beside === undefined) return
  const other = `${pathToFileURL(path.resolve(beside, 'dist/server'))}/`
  await compileInto('dist/beside', (text) => text.replaceAll(built, other))
}

async function compileInto(folder, translate) {
  const files = await readdir(path.join(bench, 'servers'), { recursive: true })
  for (const file of files.filter((name) => /\.m?[jt]s$/.test(name))) {
    const source = await readFile(path.join(bench, 'servers', file), 'utf8')
    const target = path.join(bench, folder, file.replace(/\.ts$/, '.mjs'))
    await mkdir(path.dirname(target), { recursive: true })
    await writeFile(target, translate(file.endsWith('.ts') ? transpile(source, file) : source))
  }
}

function transpile(source, fileName) {
  return ts.transpileModule(source, { compilerOptions, fileName }).outputText
}

/**
 * Where a contender's file is run from: `get/bare.mjs` as it stands, `get/filigree.ts` compiled.
 *
 * @param isBeside with the Filigree of the other checkout
 */
export function runnableFile(file, isBeside = false) {
  const compiled = file.replace(/\.ts$/, '.mjs')
  if (isBeside) return path.join(bench, 'dist/beside', compiled)
  return path.join(bench, file.endsWith('.ts') ? 'dist' : 'servers', compiled)
}
