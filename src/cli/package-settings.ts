/**
 * Reads the settings of the commands in package.json: `"filigree": { "module": "dist/app-module.js", "engines":
 * ["postgres"] }`.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from './terminal.js'

/** The path of the built file with the application's module. */
export async function pathInPackage(cwd: string): Promise<string | undefined> {
  const { module } = await readSettings(cwd)
  return typeof module === 'string' ? module : undefined
}

/**
 * The engines that migrations are written for; `undefined`: all.
 *
 * @throws {UsageError} if it is not a list of names
 */
export async function readEngines(cwd: string): Promise<readonly string[] | undefined> {
  const { engines } = await readSettings(cwd)
  if (engines === undefined) return undefined
  const isList = Array.isArray(engines) && engines.length > 0
  if (isList && engines.every((name): name is string => typeof name === 'string')) return engines
  throw new UsageError("package.json: filigree.engines is a list of the engines' names.")
}

async function readSettings(cwd: string): Promise<{ module?: unknown; engines?: unknown }> {
  try {
    const text = await readFile(join(cwd, 'package.json'), 'utf8')
    const { filigree } = JSON.parse(text) as { filigree?: object }
    return filigree ?? {}
  } catch {
    // Without a readable package.json the defaults apply.
    return {}
  }
}
