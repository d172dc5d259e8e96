/**
 * Bundles the server into few files: `dist/server/index.js`, `cli.js` and the parts that they share. A program then reads
 * one file instead of two hundred, which halves its start. Modules that are loaded lazily stay in files of their own.
 *
 * The packages in `bundled` are part of the bundle, with their licences beside it:
 * - CommonJS packages that every start needs. To import one, Node parses its files twice and looks for each of them on disk,
 *   which takes a quarter of a small program's start.
 * - Lazily loaded packages that require parts of Node. A bundler cannot translate them into an ES module of an application.
 * A package that the application installs itself stays a separate copy.
 *
 * The files of the page at `/swagger` are copied from their package, and those of the GraphQL IDE from `client/ide/page`, which
 * `npm run ide` builds. Both are stored compressed, so applications do not install these packages. The bundle is readable and has no source maps,
 * because the package does not contain the sources.
 *
 * The compiler's output in `dist/src` provides the declarations. Run `node src/build.mjs [folder]` after `tsc`. The folder
 * is `dist/server` by default.
 */
import { build } from 'esbuild'
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compressFiles, readLicences } from './bundle-files.mjs'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))

const target = process.argv[2] === undefined ? path('../dist/server') : resolve(process.argv[2])

const bundled = [
  ...['cookie', 'pino', 'reflect-metadata'],
  ...['@fastify/send', 'openapi3-ts/oas31'],
]

/** Imports all other packages from the place where the application has installed them. */
const keepExternal = {
  name: 'keep-external',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path: name, importer }) => {
      const inside = importer.includes('/node_modules/')
      return inside || name.startsWith('node:') || bundled.includes(name)
        ? undefined
        : { path: name, external: true }
    })
  },
}

async function writeLicences(inputs) {
  const own = await readLicences([...inputs, 'node_modules/swagger-ui-dist/'])
  const ofIde = await readFile(path('../client/ide/page/LICENCES.txt'), 'utf8')
  await writeFile(join(target, 'LICENCES.txt'), `${own}${ofIde}`)
}

/** Copies the files of `/swagger`, of the GraphQL IDE and of the development page. */
async function copyPages() {
  const from = (name) => path(`../node_modules/${name}`)
  const to = (name) => join(target, 'pages', name)
  for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png', 'NOTICE'])
    await cp(from(`swagger-ui-dist/${file}`), to(`swagger-ui/${file}`))
  await cp(path('./openapi/page'), to('swagger'), { recursive: true })
  await cp(path('./cli/dev/page'), to('development'), { recursive: true })
  await cp(path('../client/ide/page'), to('ide'), {
    recursive: true,
    filter: (file) => !file.endsWith('.txt'),
  })
}

/** `src/modules/throttle/throttle.ts` is `filigree/throttle`. */
async function moduleEntries() {
  const names = await readdir(path('./modules')).catch(() => [])
  return Object.fromEntries(names.map((name) => [name, path(`./modules/${name}/${name}.ts`)]))
}

// Pieces are named by what is in them: those of earlier builds would stay.
await rm(target, { recursive: true, force: true })
const { metafile } = await build({
  entryPoints: {
    ...(await moduleEntries()),
    index: path('./index.ts'),
    cli: path('./cli/main.ts'),
    'dev-child': path('./cli/dev/child.ts'),
    'mcp-child': path('./cli/mcp/child.ts'),
  },
  outdir: target,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  plugins: [keepExternal],
  // The bundled packages require parts of Node.
  banner: {
    js: "import { createRequire as requireOfNode } from 'node:module'; const require = requireOfNode(import.meta.url);",
  },
  metafile: true,
  tsconfig: path('../tsconfig.json'),
  logLevel: 'error',
})
await copyPages()
await compressFiles(join(target, 'pages/swagger-ui'))
await cp(path('./require.cjs'), join(target, 'require.cjs'))
await writeLicences(Object.keys(metafile.inputs))
