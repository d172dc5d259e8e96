/**
 * Bundles Kysely and GraphQL into one file each. Jest loads every module again for every suite, and these packages have 400.
 * `jest.config.ts` maps their names to the bundles.
 */
import { build } from 'esbuild'
import { rename } from 'node:fs/promises'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
/** Jest does not transform what is in `node_modules`. */
const folder = join(root, 'node_modules/.cache/filigree-tests')

export async function bundlePackages() {
  await Promise.all([
    bundle('kysely.mjs', 'esm', "export * from 'kysely'"),
    bundle('graphql.cjs', 'cjs', "module.exports = require('graphql')"),
  ])
}

async function bundle(name, format, contents) {
  const file = join(folder, name)
  // Another run may read the file at the same time.
  const outfile = `${file}.${process.pid}`
  await build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    format,
    outfile,
    platform: 'node',
    target: 'node20',
    keepNames: true,
    logLevel: 'error',
  })
  await rename(outfile, file)
}
