/** Loads an application's built module without starting it: the file exports it, or calls `bootstrap` with it. */

import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { BootstrapOptions } from '../bootstrap/options.js'
import { planApplication, type ApplicationPlan } from '../bootstrap/plan-application.js'
import { installCommand } from '../errors/missing-package.js'
import { UsageError, type Terminal } from './command.js'
import { captureBootstrap } from '../bootstrap/captured-call.js'
import { isModule } from '../bootstrap/module.js'
import { isClass } from '../metadata/dialect.js'
import type { Class } from '../metadata/class-metadata.js'
import { pathInPackage } from './package-files.js'

/** Reads an application for commands that only need its records and its database. */

/**
 * Reads the declarations. Of the environment only the variables of the database count: keys, addresses and other
 * settings of production may be missing on the machine that migrates.
 *
 * @throws {DeclarationError} with every fault of the declarations
 */
export function planForDatabase({
  module,
  options,
}: Pick<LoadedApplication, 'module' | 'options'>): Promise<ApplicationPlan> {
  const env = Object.fromEntries(
    Object.entries(options.env ?? process.env).filter(([name]) => name.startsWith('DATABASE_')),
  )
  const needed: BootstrapOptions = { ...options, env, logger: false }
  delete needed.auth
  return planApplication(module, needed)
}

/** Lets this process import an application's TypeScript, by the `tsx` that the application has installed. */

export function isSource(path: string): boolean {
  return /\.[cm]?tsx?$/.test(path)
}

let loads =
  process.versions.bun !== undefined ||
  process.versions.deno !== undefined ||
  process.execArgv.some((argument) => /\btsx\b/.test(argument))

/**
 * @param file the source that will be imported, as it was named; its folder is where tsx is looked for
 * @throws {UsageError} tsx is not installed there
 */
export async function loadSources(file: string): Promise<void> {
  if (loads) return
  const loader = findLoader(file)
  if (loader === undefined) {
    const install = installCommand('--save-dev tsx')
    throw new UsageError(
      `${file} is TypeScript, and tsx is not installed. Run ${install}, or name the built file.`,
    )
  }
  // As `node --import tsx` does.
  await import(pathToFileURL(loader).href)
  loads = true
}

/** @returns the path of the tsx that is installed beside a file */
export function findLoader(file: string): string | undefined {
  try {
    return createRequire(file).resolve('tsx')
  } catch {
    return undefined
  }
}

export interface LoadedApplication {
  readonly module: Class
  /** The options in the file's call of `bootstrap`, otherwise its export `options`, if there is one. */
  readonly options: BootstrapOptions
  /** The absolute path of the loaded file. */
  readonly path: string
}

/**
 * @param path of a built file; default: `filigree.module` in package.json
 * @throws {UsageError} no file is named, it does not exist, or it exports no module
 */
export async function loadApplication(
  path: string | undefined,
  { cwd, loadSources }: Pick<Terminal, 'cwd' | 'loadSources'>,
): Promise<LoadedApplication> {
  const named = path ?? (await pathInPackage(cwd))
  if (named === undefined) {
    throw new UsageError(
      'no application is given. Name the built file of its module, or write it into package.json: "filigree": { "module": "dist/app-module.js" }.',
    )
  }
  const file = resolve(cwd, named)
  if (!existsSync(file))
    throw new UsageError(
      `the file ${named} does not exist. Build the application first, or name the built one: --module dist/main.js.`,
    )
  if (isSource(file)) await loadSources?.(file)
  const found = await captureBootstrap(() => importFile(file, named))
  if ('call' in found) return { ...found.call, path: file }
  const exported = found.loaded
  const module = exported.AppModule ?? exported.default ?? onlyModule(exported)
  if (!isClass(module)) {
    throw new UsageError(
      `${named} exports no class as AppModule or default, nor a single one with @Module. It exports: ${Object.keys(exported).join(', ') || 'nothing'}.`,
    )
  }
  return { module, options: exported.options ?? {}, path: file }
}

/** The only export with `@Module`, whatever its name; undefined if there are several. */
function onlyModule(exported: Record<string, unknown>): unknown {
  const modules = Object.values(exported).filter((value) => isClass(value) && isModule(value))
  return modules.length === 1 ? modules[0] : undefined
}

async function importFile(path: string, named: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>
  } catch (error) {
    if (!(error instanceof Error && isUnloadableSource(named, error))) throw error
    const problem = `${named} is TypeScript, which this Node.js cannot load: ${error.message}.`
    throw new UsageError(`${problem} Name the built file instead.`)
  }
}

/** Node.js cannot load `.ts`, or only removes types: then decorators are a syntax error. */
function isUnloadableSource(named: string, error: Error): boolean {
  const isUnknown = 'code' in error && error.code === 'ERR_UNKNOWN_FILE_EXTENSION'
  const isAtSign = error.name === 'SyntaxError' && error.message === 'Invalid or unexpected token'
  return isSource(named) && (isUnknown || isAtSign)
}
