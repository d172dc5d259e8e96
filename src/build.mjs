/**
 * Bundles the server into few files: `dist/server/index.js` and `cli.js` with what they share. A program then reads one
 * file where it would read two hundred, which halves its start. What is loaded late stays in files of its own.
 *
 * The compiler's output in `dist/src` keeps the declarations. `node src/build.mjs`, after `tsc`.
 */
import { build } from 'esbuild'
import { fileURLToPath } from 'node:url'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))

await build({
  entryPoints: { index: path('./index.ts'), cli: path('./cli/main.ts') },
  outdir: path('../dist/server'),
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
  sourcemap: true,
  tsconfig: path('../tsconfig.json'),
  logLevel: 'error',
})
