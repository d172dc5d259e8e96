/**
 * Builds the admin page: `admin.js`, `admin.css`, and a module for each view that is loaded when it is opened.
 * `node client/admin/build.mjs [folder]`, default dist/admin. The page itself is written by the server, because its addresses are
 * the application's.
 */
import { minify } from '@swc/core'
import { build } from 'esbuild'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const target = resolve(process.argv[2] ?? join(here, '../../dist/admin'))

/** The modules that `import()` loads. They share everything else with `admin.js`. */
const laterModules = ['bin', 'bulk-change', 'chart', 'csv-import', 'jump']

/** The names that the later modules import, by module. `admin.js` exports them. */
async function sharedNames() {
  const names = new Map()
  for (const module of laterModules) {
    const text = await readFile(join(here, `${module}.ts`), 'utf8')
    for (const [, list, from] of text.matchAll(/^import \{([^}]+)\} from '(.+)\.js'$/gm)) {
      const values = list.split(',').map((name) => name.trim())
      names.set(from, [...(names.get(from) ?? []), ...values.filter((name) => /^\w+$/.test(name))])
    }
  }
  return [...names].map(
    ([from, list]) => `export { ${[...new Set(list)].join(', ')} } from '${from}.js'`,
  )
}

/** The server sends the module with the texts of the language that it has chosen. */
const languageFromServer = {
  name: 'language-from-server',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.\/language\.js$/ }, ({ path }) => ({ path, external: true }))
  },
}

const loadedLater = {
  name: 'loaded-later',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\./ }, ({ path, kind }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    )
  },
}

const sharedWithPage = {
  name: 'shared-with-page',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\./ }, () => ({ path: './admin.js', external: true }))
  },
}

const options = { bundle: true, write: false, minify: true, logLevel: 'error', target: 'es2022' }

async function buildScript(input, plugins) {
  const script = await build({ ...options, ...input, format: 'esm', platform: 'browser', plugins })
  const { code } = await minify(script.outputFiles[0].text, {
    compress: { ecma: 2022, passes: 2, toplevel: true },
    mangle: { toplevel: true },
    module: true,
    format: { comments: false },
  })
  return code
}

const main = await readFile(join(here, 'main.ts'), 'utf8')
const contents = [main, ...(await sharedNames())].join('\n')
const stdin = { contents, resolveDir: here, loader: 'ts' }
const files = new Map([
  ['admin.js', buildScript({ stdin }, [languageFromServer, loadedLater])],
  ...laterModules.map((name) => [
    `${name}.js`,
    buildScript({ entryPoints: [join(here, `${name}.ts`)] }, [sharedWithPage]),
  ]),
])
const style = await build({
  ...options,
  entryPoints: [join(here, 'admin.css')],
  target: 'chrome123',
})
await mkdir(target, { recursive: true })
for (const [name, code] of files) await writeFile(join(target, name), await code)
await writeFile(join(target, 'admin.css'), style.outputFiles[0].text)
