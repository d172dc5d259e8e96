/** Finds the module that exports a class, among those that the application's own module imports. */
import { existsSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Class } from '../metadata/note.js'

/** Where a class can be imported from. */
export interface ExportPlace {
  /** The absolute path of a file, or the name that a package is imported by. */
  readonly from: string
  readonly isPackage: boolean
  /** The export's name, `default` too: not always the class's. */
  readonly name: string
}

/**
 * Walks the static imports from a file, breadth first, and searches each module's exports for the given classes. The
 * modules are loaded already, so no code runs again. Dynamic imports are not followed: a program may have reasons not
 * to run them.
 *
 * @param entry absolute path of a built module, or of a source where something compiles sources on the way in
 * @param required looked for among packages too, where no file of the application exports them
 * @returns nothing for a class that no module exports
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
  // A set takes more while it is walked.
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
    // `export { A as 'an a' }`: compilers write no declarations that could say it.
    if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name)) continue
    if (wanted.delete(value)) places.set(value as Class, { ...place, name })
  }
}

/**
 * `import … from 'x'`, `import 'x'` and `export … from 'x'` at the beginning of a line or, in minified code, of a
 * statement: never those that a comment shows. A type's import is none.
 */
const statement =
  /(?:^|[;}])[ \t]*(?:import|export)\b(?!\s+type\b)(?:[^'"`;()]*?\bfrom)?\s*(['"])([^'"\n]+)\1/gm

function staticImports(text: string): string[] {
  return [...text.matchAll(statement)].flatMap((match) => match[2] ?? [])
}

/** @returns `undefined` for a package, for what is no code, and for what is not there */
function resolveFile(specifier: string, importer: string): string | undefined {
  if (specifier.startsWith('#')) return resolveBare(specifier, importer)
  if (!/^\.\.?\//.test(specifier)) return undefined
  const path = join(dirname(importer), specifier)
  return candidates(path).find((file) => isCode.test(file) && isFile(file))
}

const isCode = /\.[cm]?[jt]sx?$/

/** Sources name each other as they will be built, or leave the ending out. */
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
    // A module of the platform's tooling (an alias, say) is none that can be named in the types.
    return undefined
  }
}
