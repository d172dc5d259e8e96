/**
 * Deletes the declarations that no entry of the package imports: editors then suggest nothing internal, and the package is
 * smaller. `node src/declarations.mjs [dist]`, after `tsc`.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const dist = resolve(process.argv[2] ?? join(root, 'dist'))
const { exports: entries } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

const reached = new Set()

function reach(file) {
  if (reached.has(file) || !existsSync(file)) return
  reached.add(file)
  const text = readFileSync(file, 'utf8')
  for (const [, path] of text.matchAll(/(?:\bfrom|\bimport|\bimport\()\s*["'](\.[^"']+)\.js["']/g))
    reach(join(dirname(file), `${path}.d.ts`))
}

for (const { types } of Object.values(entries))
  if (types !== undefined) reach(join(dist, types.replace('./dist/', '')))
for (const name of readdirSync(join(dist, 'src'), { recursive: true })) {
  const file = join(dist, 'src', name)
  if (name.endsWith('.d.ts') && !reached.has(file)) rmSync(file)
}
