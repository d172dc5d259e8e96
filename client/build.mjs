/**
 * Builds the client into dist/client: `filigree.mjs` (ESM) and `filigree.min.js` (a script that sets `window.api`), both
 * minified, each with its source map. esbuild bundles; SWC, which inlines across modules, makes it some 50 bytes smaller.
 */
import { minify } from '@swc/core'
import { build } from 'esbuild'
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))

const entries = {
  'filigree.mjs': `export { api, createClient } from './index.ts'`,
  'filigree.min.js': `import { api } from './index.ts'\nwindow.api = api`,
}

/**
 * @param {keyof typeof entries} name
 * @returns {Promise<{ code: string, map: string }>} the file as it is served, and its source map
 */
export async function buildClient(name) {
  const bundled = await build({
    stdin: { contents: entries[name], resolveDir: here, sourcefile: 'entry.ts', loader: 'ts' },
    outfile: `${here}${name}`,
    sourcemap: 'external',
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
    logLevel: 'error',
  })
  const [bundledMap, bundledCode] = bundled.outputFiles.map((file) => file.text)
  const { code, map } = await minify(bundledCode, {
    compress: { ecma: 2022, passes: 3, toplevel: true },
    mangle: { toplevel: true },
    ecma: 2022,
    module: true,
    format: { comments: false },
    sourceMap: { content: bundledMap, filename: name, url: `${name}.map` },
  })
  const finished = { ...JSON.parse(map), file: name }
  if (name == 'filigree.mjs') return { code, map: JSON.stringify(finished) }
  // A function of its own keeps the script's names out of the page. Its line break adds one empty line to the map.
  const [body, comment] = code.split('\n')
  finished.mappings = ';' + finished.mappings
  return { code: `(()=>{\n${body}})()\n${comment}`, map: JSON.stringify(finished) }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const target = new URL('../dist/client/', import.meta.url)
  await mkdir(target, { recursive: true })
  for (const name of Object.keys(entries)) {
    const { code, map } = await buildClient(name)
    await writeFile(new URL(name, target), code)
    await writeFile(new URL(`${name}.map`, target), map)
  }
}
