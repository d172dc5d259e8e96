/**
 * The files of the user's project: settings in package.json, and source files by imports or by folder. Also finds the
 * version and origin of the installed filigree package.
 */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, basename, resolve, sep } from 'node:path'
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { UsageError } from './command.js'

/** @returns `filigree.module` of the project's package.json, the path of the file with the application's module */
export async function pathInPackage(cwd: string): Promise<string | undefined> {
  const { module } = await readSettings(cwd)
  return typeof module === 'string' ? module : undefined
}

/**
 * @returns `filigree.engines` of the project's package.json, the engines of its migrations. Undefined means all engines
 * @throws {UsageError} the value is not a list of names
 */
export async function readEngines(cwd: string): Promise<readonly string[] | undefined> {
  const { engines } = await readSettings(cwd)
  if (engines === undefined) return undefined
  const isList = Array.isArray(engines) && engines.length > 0
  if (isList && engines.every((name): name is string => typeof name === 'string')) return engines
  throw new UsageError('package.json: filigree.engines must be a list of names of engines.')
}

/** Writes `filigree.engines` of package.json, and changes nothing else in the file. */
export async function writeEngines(cwd: string, engines: readonly string[]): Promise<void> {
  const file = join(cwd, 'package.json')
  const text = await readFile(file, 'utf8')
  const list = JSON.stringify(engines).replaceAll(',', ', ')
  const found = /("filigree"\s*:\s*\{[^{}]*?"engines"\s*:\s*)\[[^\]]*\]/
  const changed = text.replace(found, (_, before: string) => before + list)
  await writeFile(file, changed === text ? withEngines(text, engines) : changed)
}

/** For a file whose `filigree` contains other objects before the list. */
function withEngines(text: string, engines: readonly string[]): string {
  const content = JSON.parse(text) as { filigree?: object }
  const changed = { ...content, filigree: { ...content.filigree, engines } }
  return `${JSON.stringify(changed, null, /^[ \t]+/m.exec(text)?.[0] ?? 2)}\n`
}

async function readSettings(cwd: string): Promise<{ module?: unknown; engines?: unknown }> {
  try {
    const text = await readFile(join(cwd, 'package.json'), 'utf8')
    const { filigree } = JSON.parse(text) as { filigree?: object }
    return filigree ?? {}
  } catch {
    // The defaults apply without a readable package.json.
    return {}
  }
}

/** The folder of the installed package. The bundle and the sources are two folders below it. */
export const packageFolder = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '')

export interface PackageFile {
  readonly name: string
  readonly version: string
  readonly engines: { readonly node: string }
  readonly devDependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

export async function readInstalledPackage(): Promise<PackageFile> {
  return JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8')) as PackageFile
}

/** The origin of the installed package. */
export type PackageOrigin =
  | { readonly from: 'tarball' | 'folder'; readonly path: string }
  | { readonly from: 'registry'; readonly version: string }

/** Finds the origin of the package, so that a new project installs the same one. */
export async function findOrigin(
  { name, version }: PackageFile,
  folder = packageFolder,
): Promise<PackageOrigin> {
  const modules = dirname(folder)
  // A checkout, or a linked folder.
  if (basename(modules) !== 'node_modules') return { from: 'folder', path: folder }
  const resolved = await readResolved(modules, name)
  if (resolved?.startsWith('file:') === true) {
    const path = resolve(dirname(modules), resolved.slice('file:'.length))
    if (existsSync(path)) return { from: statSync(path).isFile() ? 'tarball' : 'folder', path }
  }
  return { from: 'registry', version }
}

/** @returns the path with slashes, as imports and reports show it on every platform */
export function toPosix(path: string): string {
  return path.split(sep).join('/')
}

/** npm writes the origin of each package into `.package-lock.json`. */
async function readResolved(modules: string, name: string): Promise<string | undefined> {
  try {
    const text = await readFile(join(modules, '.package-lock.json'), 'utf8')
    const { packages } = JSON.parse(text) as {
      packages?: Record<string, { resolved?: string } | undefined>
    }
    return packages?.[`node_modules/${name}`]?.resolved
  } catch {
    // Another package manager installed it.
    return undefined
  }
}

// Source files.

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
