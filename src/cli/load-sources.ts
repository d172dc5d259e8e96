/** Lets this process import an application's TypeScript, by the `tsx` that the application has installed. */
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { installCommand } from '../core/install-command.js'
import { UsageError } from './terminal.js'

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
