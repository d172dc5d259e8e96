/** Compiles the contenders that are written with decorators, with the metadata that Nest needs. */
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const bench = fileURLToPath(new URL('..', import.meta.url))

const compilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
}

/** Writes each `servers/<row>/<name>.ts` to `dist/<row>/<name>.mjs`, and what it imports beside it. */
export async function compileServers() {
  const files = await readdir(path.join(bench, 'servers'), { recursive: true })
  for (const file of files.filter((name) => name.endsWith('.mjs'))) {
    const target = path.join(bench, 'dist', file)
    await mkdir(path.dirname(target), { recursive: true })
    await copyFile(path.join(bench, 'servers', file), target)
  }
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const source = await readFile(path.join(bench, 'servers', file), 'utf8')
    const { outputText } = ts.transpileModule(source, { compilerOptions, fileName: file })
    const target = path.join(bench, 'dist', file.replace(/\.ts$/, '.mjs'))
    await mkdir(path.dirname(target), { recursive: true })
    await writeFile(target, outputText)
  }
}

/** Where a contender's file is run from: `get/bare.mjs` as it stands, `get/filigree.ts` compiled. */
export function runnableFile(file) {
  return file.endsWith('.ts')
    ? path.join(bench, 'dist', file.replace(/\.ts$/, '.mjs'))
    : path.join(bench, 'servers', file)
}
