/**
 * Deletes the declarations that no entry of the package imports: editors then suggest nothing internal, and the package is
 * smaller. `node src/declarations.mjs [dist]`, after `tsc`.
 *
 * An incremental `tsc` does not write again what an earlier build deleted. If an entry now imports such a declaration, everything
 * is compiled anew.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const dist = resolve(process.argv[2] ?? join(root, 'dist'))
const { exports: entries } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** @returns the declarations that the entries import, directly or not, as far as they are on disk, and those that are not */
function findDeclarations() {
  const [reached, missing] = [new Set(), new Set()]
  const reach = (file) => {
    if (reached.has(file) || missing.has(file)) return
    if (!existsSync(file)) return missing.add(file)
    reached.add(file)
    const code = readFileSync(file, 'utf8').replace(/\/\*[^]*?\*\//g, '')
    for (const [, path] of code.matchAll(importPattern)) reach(join(dirname(file), `${path}.d.ts`))
  }
  for (const { types } of Object.values(entries))
    if (types !== undefined) reach(join(dist, types.replace('./dist/', '')))
  return { reached, missing }
}

const importPattern = /(?:\bfrom|\bimport|\bimport\()\s*["'](\.[^"']+)\.js["']/g

const buildInfo = join(dist, '.tsbuildinfo')
let { reached, missing } = findDeclarations()
if (missing.size > 0 && existsSync(buildInfo)) {
  rmSync(buildInfo)
  execFileSync(process.execPath, ['node_modules/typescript7/bin/tsc'], {
    cwd: root,
    stdio: 'inherit',
  })
  ;({ reached, missing } = findDeclarations())
}
if (missing.size > 0) throw new Error(`The package lacks declarations: ${[...missing].join(', ')}`)

for (const name of readdirSync(join(dist, 'src'), { recursive: true })) {
  const file = join(dist, 'src', name)
  if (name.endsWith('.d.ts') && !reached.has(file)) rmSync(file)
}
