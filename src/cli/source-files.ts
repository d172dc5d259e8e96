/** Finds an application's source files: by the imports of its entry, or in its folder. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** @returns true for the path of a TypeScript file */
export function isSource(path: string): boolean {
  return /\.[cm]?tsx?$/.test(path)
}

/**
 * Follows static imports, breadth first. Dynamic imports are not followed, because loading them could have effects.
 *
 * @param entry absolute path of a source or a built file. It is returned first
 * @param packages receives each imported package with the file that imports it
 */
export function* importedFiles(
  entry: string,
  packages = new Map<string, string>(),
): Generator<string, void, undefined> {
  const files = new Set([entry])
  // The set grows during the loop.
  for (const file of files) {
    yield file
    for (const specifier of staticImports(readFileSync(file, 'utf8'))) {
      const next = resolveFile(specifier, file)
      if (next !== undefined) files.add(next)
      else if (/^[^./#]/.test(specifier) && !specifier.startsWith('node:'))
        packages.set(specifier, file)
    }
  }
}

/**
 * `import … from 'x'`, `import 'x'` and `export … from 'x'` at the beginning of a line or, in minified code, of a
 * statement, so that comments do not match. Imports of types do not count.
 */
const importStatement =
  /(?:^|[;}])[ \t]*(?:import|export)\b(?!\s+type\b)(?:[^'"`;()]*?\bfrom)?\s*(['"])([^'"\n]+)\1/gm

function staticImports(text: string): string[] {
  return [...text.matchAll(importStatement)].flatMap((match) => match[2] ?? [])
}

/** @returns undefined for packages, files without code, and missing files */
function resolveFile(specifier: string, importer: string): string | undefined {
  if (specifier.startsWith('#')) return resolvePackage(specifier, importer)
  if (!/^\.\.?\//.test(specifier)) return undefined
  const path = join(dirname(importer), specifier)
  return candidates(path).find((file) => isCode.test(file) && isFile(file))
}

const isCode = /\.[cm]?[jt]sx?$/

/** Sources import each other by the names of the built files, or without an ending. */
function candidates(path: string): string[] {
  const source = path.replace(/\.([cm]?)js(x?)$/, '.$1ts$2')
  const withEnding = ['.ts', '.tsx', '.js', '/index.ts', '/index.js'].map((end) => path + end)
  return [path, source, path.replace(/\.js$/, '.tsx'), ...withEnding]
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile()
}

/** @returns the file that a package's name, or a name of `imports` in package.json, leads to */
export function resolvePackage(specifier: string, importer: string): string | undefined {
  try {
    const file = createRequire(importer).resolve(specifier)
    return isCode.test(file) ? file : undefined
  } catch {
    // Names that only build tools know, such as aliases.
    return undefined
  }
}

const skippedFolders = new Set(['node_modules', 'dist', 'build', 'coverage', 'out'])
const maxFiles = 5000

/** @returns the source files of a folder, without built and hidden folders. Declarations of types are left out */
export function filesInFolder(folder: string): string[] {
  const files: string[] = []
  const folders = [folder]
  // The list grows during the loop.
  for (const current of folders) {
    for (const entry of readdirSync(current, { withFileTypes: true })) {
      if (files.length >= maxFiles) return files
      const path = join(current, entry.name)
      if (entry.isFile() && isCode.test(entry.name) && !entry.name.includes('.d.')) files.push(path)
      const isSkipped = entry.name.startsWith('.') || skippedFolders.has(entry.name)
      if (entry.isDirectory() && !isSkipped) folders.push(path)
    }
  }
  return files
}
