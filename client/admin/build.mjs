/**
 * Builds the admin page: `admin.js` and `admin.css`. `node client/admin/build.mjs [folder]`, default dist/admin. The page
 * itself is written by the server, because its addresses are the application's.
 */
import { minify } from '@swc/core'
import { build } from 'esbuild'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const target = resolve(process.argv[2] ?? join(here, '../../dist/admin'))

/** The server sends the module with the texts of the language that it has chosen. */
const languageFromServer = {
  name: 'language-from-server',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.\/language\.js$/ }, ({ path }) => ({ path, external: true }))
  },
}

const options = { bundle: true, write: false, minify: true, logLevel: 'error', target: 'es2022' }
const [script, style] = await Promise.all([
  build({
    ...options,
    entryPoints: [join(here, 'main.ts')],
    format: 'esm',
    platform: 'browser',
    plugins: [languageFromServer],
  }),
  build({ ...options, entryPoints: [join(here, 'admin.css')], target: 'chrome123' }),
])
const { code } = await minify(script.outputFiles[0].text, {
  compress: { ecma: 2022, passes: 2, toplevel: true },
  mangle: { toplevel: true },
  module: true,
  format: { comments: false },
})
await mkdir(target, { recursive: true })
await writeFile(join(target, 'admin.js'), code)
await writeFile(join(target, 'admin.css'), style.outputFiles[0].text)
