/** Reads package.json: the settings of the user's project, and the version and origin of the installed filigree package. */
import { readFile } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { existsSync, statSync } from 'node:fs'
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
export const packageFolder = fileURLToPath(new URL('../../', import.meta.url)).replace(/[\\/]$/, '')

export interface PackageFile {
  readonly name: string
  readonly version: string
  readonly engines: { readonly node: string }
  readonly devDependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

export async function readOwnPackage(): Promise<PackageFile> {
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
