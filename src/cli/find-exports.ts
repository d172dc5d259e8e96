/** Finds the module that exports a class, among the modules that the application's own module imports. */
import { existsSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Class } from '../metadata/note.js'

/** Where a class can be imported from. */
export interface ExportPlace {
  /** The absolute path of a file, or the name of a package. */
  readonly from: string
  readonly isPackage: boolean
  /** The export's name, also `default`; it may differ from the class's. */
  readonly name: string
}

/**
 * Follows the static imports of a file, breadth first, and searches each module's exports for the given classes. The
 * modules are already loaded, so no code runs again. Dynamic imports are not followed: a program may have reasons not
 * to run them.
 *
 * @param entry absolute path of a built module, or of a source file if a loader compiles sources
 * @param required classes that are also searched in packages, if no file of the application exports them
 * @returns no entry for a class that no module exports
 */
export async function findExports(
  entry: string,
  required: ReadonlySet<Class>,
  optional: ReadonlySet<Class>,
): Promise<ReadonlyMap<Class, ExportPlace>> {
  const places = new Map<Class, ExportPlace>()
  const wanted = new Set<unknown>([...required, ...optional])
  const packages = new Map<string, string>()
  const files = new Set([entry])
  // The set grows during the loop.
  for (const file of files) {
    if (wanted.size === 0) return places
    takeExports(await load(file), { from: file, isPackage: false }, wanted, places)
    for (const specifier of staticImports(await readFile(file, 'utf8'))) {
      const next = resolveFile(specifier, file)
      if (next !== undefined) files.add(next)
      else if (/^[^./#]/.test(specifier) && !specifier.startsWith('node:')) {
        packages.set(specifier, file)
      }
    }
  }
  for (const [specifier, importer] of packages) {
    if ([...required].every((type) => !wanted.has(type))) return places
    const file = resolveBare(specifier, importer)
    if (file === undefined) continue
    takeExports(await load(file), { from: specifier, isPackage: true }, wanted, places)
  }
  return places
}

async function load(file: string): Promise<Record<string, unknown>> {
  return (await import(pathToFileURL(file).href)) as Record<string, unknown>
}

function takeExports(
  exported: Record<string, unknown>,
  place: Omit<ExportPlace, 'name'>,
  wanted: Set<unknown>,
  places: Map<Class, ExportPlace>,
): void {
  for (const [name, value] of Object.entries(exported)) {
    // `export { A as 'an a' }`: names that the generated types could not import.
    if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name)) continue
    if (wanted.delete(value)) places.set(value as Class, { ...place, name })
  }
}

/**
 * `import … from 'x'`, `import 'x'` and `export … from 'x'` at the beginning of a line or, in minified code, of a
 * statement, so that comments do not match. Imports of types do not count.
 */
const statement =
  /(?:^|[;}])[ \t]*(?:import|export)\b(?!\s+type\b)(?:[^'"`;()]*?\bfrom)?\s*(['"])([^'"\n]+)\1/gm

function staticImports(text: string): string[] {
  return [...text.matchAll(statement)].flatMap((match) => match[2] ?? [])
}

/** @returns `undefined` for packages, files without code, and missing files */
function resolveFile(specifier: string, importer: string): string | undefined {
  if (specifier.startsWith('#')) return resolveBare(specifier, importer)
  if (!/^\.\.?\//.test(specifier)) return undefined
  const path = join(dirname(importer), specifier)
  return candidates(path).find((file) => isCode.test(file) && isFile(file))
}

const isCode = /\.[cm]?[jt]sx?$/

/** Sources import each other by the names of the built files, or without an ending. */
function candidates(path: string): string[] {
  const source = path.replace(/\.([cm]?)js(x?)$/, '.$1ts$2')
  const bare = ['.ts', '.tsx', '.js', '/index.ts', '/index.js'].map((end) => path + end)
  return [path, source, path.replace(/\.js$/, '.tsx'), ...bare]
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile()
}

function resolveBare(specifier: string, importer: string): string | undefined {
  try {
    const file = createRequire(importer).resolve(specifier)
    return isCode.test(file) ? file : undefined
  } catch {
    // Modules that only the build tools know (an alias, say) cannot be imported by the types.
    return undefined
  }
}
