/**
 * Builds the client: `filigree.mjs` (ESM) and `filigree.min.js` (a script that sets `window.api`), and its additions:
 * `live.mjs` and `passkeys.mjs`, which import the first, and `live.min.js` and `passkeys.min.js`, which need the second. All are minified, with their source maps.
 * `node client/build.mjs [folder]`, default dist/client.
 *
 * esbuild bundles; SWC minifies, because it inlines across modules and so saves some 50 bytes.
 */
import { minify } from '@swc/core'
import { build } from 'esbuild'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const target = resolve(process.argv[2] ?? join(here, '../dist/client'))

/** @param client a plugin that resolves the import of the client in additions such as `live.ts` */
async function buildModule(name, entry, client) {
  const bundled = await build({
    plugins: client === undefined ? [] : [client],
    stdin: { contents: entry, resolveDir: here, sourcefile: 'entry.ts', loader: 'ts' },
    outfile: join(target, name),
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
  return { code, map: { ...JSON.parse(map), file: name } }
}

/** A function around it keeps the module's names out of the page; its line break is an empty line in the map. */
function toScript({ code, map }) {
  // The last line names the map; a text in the code may have several lines.
  const end = code.lastIndexOf('\n//#')
  const [body, comment] = [code.slice(0, end), code.slice(end + 1)]
  return {
    code: `(()=>{\n${body}})()\n${comment}`,
    map: { ...map, mappings: ';' + map.mappings },
  }
}

async function write(name, { code, map }) {
  await writeFile(join(target, name), code)
  await writeFile(join(target, `${name}.map`), JSON.stringify(map))
}

/** Imports the client from the module in the same folder. */
const clientAsModule = {
  name: 'client',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/index\.js$/ }, () => ({ path: './filigree.mjs', external: true }))
  },
}

/** Uses the client that the page has loaded. */
const clientOfPage = {
  name: 'client',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\/index\.js$/ }, () => ({ path: 'page', namespace: 'client' }))
    onLoad({ filter: /./, namespace: 'client' }, () => ({
      contents: `export { createClient } from './index.ts'\nexport const { api } = window`,
      resolveDir: here,
    }))
  },
}

await mkdir(target, { recursive: true })
const [module, script] = ['filigree.mjs', 'filigree.min.js']
await write(module, await buildModule(module, `export { api, createClient } from './index.ts'`))
await write(
  script,
  toScript(await buildModule(script, `import { api } from './index.ts'\nwindow.api = api`)),
)
for (const name of ['live', 'passkeys']) {
  await write(
    `${name}.mjs`,
    await buildModule(`${name}.mjs`, `export * from './${name}.ts'`, clientAsModule),
  )
  await write(
    `${name}.min.js`,
    toScript(
      await buildModule(
        `${name}.min.js`,
        `import { ${name} } from './${name}.ts'\nwindow.api.${name} = ${name}`,
        clientOfPage,
      ),
    ),
  )
}
