/**
 * Bundles the server into few files: `dist/server/index.js` and `cli.js` with what they share. A program then reads one
 * file where it would read two hundred, which halves its start. What is loaded late stays in files of its own.
 *
 * The compiler's output in `dist/src` keeps the declarations. `node src/build.mjs`, after `tsc`.
 */
import { build } from 'esbuild'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))

// Pieces are named by what is in them: those of earlier builds would stay.
await rm(path('../dist/server'), { recursive: true, force: true })
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
