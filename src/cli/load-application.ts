/** Loads an application's built module without starting it: the file exports it, or calls `bootstrap` with it. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { captureBootstrap } from '../bootstrap/captured-call.js'
import { isModule } from '../bootstrap/module.js'
import type { BootstrapOptions } from '../bootstrap/options.js'
import { isClass } from '../metadata/dialect.js'
import type { Class } from '../metadata/note.js'
import { isSource } from './load-sources.js'
import { pathInPackage } from './package-settings.js'
import { UsageError, type Terminal } from './terminal.js'

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
