/** Compiles the contenders that are written with decorators: SWC, since Nest needs the metadata that it emits. */
import { transformFile } from '@swc/core'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const bench = fileURLToPath(new URL('..', import.meta.url))

const options = {
  swcrc: false,
  configFile: false,
  module: { type: 'es6' },
  jsc: {
    target: 'es2022',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
  },
}

/** Writes each `servers/<row>/<name>.ts` to `dist/<row>/<name>.mjs`, where its relative imports stay true. */
export async function compileServers() {
  const files = await readdir(path.join(bench, 'servers'), { recursive: true })
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const { code } = await transformFile(path.join(bench, 'servers', file), options)
    const target = path.join(bench, 'dist', file.replace(/\.ts$/, '.mjs'))
    await mkdir(path.dirname(target), { recursive: true })
    await writeFile(target, code)
  }
}

/** Where a contender's file is run from: `get/bare.mjs` as it stands, `get/filigree.ts` compiled. */
export function runnableFile(file) {
  return file.endsWith('.ts')
    ? path.join(bench, 'dist', file.replace(/\.ts$/, '.mjs'))
    : path.join(bench, 'servers', file)
}
