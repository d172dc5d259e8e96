/**
 * Finds the files of pages that come from other packages. The build copies them next to the server. Applications
 * install only these files, not the packages, and therefore no install scripts or unused code.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A page's files: their folder in the distribution; in development, the package and the folder in it. */
export interface PageFiles {
  readonly name: string
  readonly package: string
  readonly subfolder: string
}

/** @throws {Error} if the files are missing; the message says how to fix it */
export function pageFolder({ name, package: source, subfolder }: PageFiles): string {
  const require = createRequire(import.meta.url)
  const candidates = [
    () => fileURLToPath(new URL(`./pages/${name}`, import.meta.url)),
    () => join(dirname(require.resolve(`${source}/package.json`)), subfolder),
    // For an application that is bundled into one file.
    () => join(dirname(require.resolve('filigree/package.json')), 'dist/server/pages', name),
  ]
  for (const locate of candidates) {
    const folder = existing(locate)
    if (folder !== undefined) return folder
  }
  throw new Error(
    `The files of the page "${name}" are missing. Deploy node_modules/filigree/dist/server/pages as "pages" next to the program.`,
  )
}

function existing(locate: () => string): string | undefined {
  try {
    const folder = locate()
    return existsSync(folder) ? folder : undefined
  } catch {
    return undefined
  }
}
