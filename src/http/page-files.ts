/**
 * Finds and sends the files of the framework's pages. Files that come from other packages are copied next to the server
 * by the build, so that applications install neither the packages nor their install scripts. The build stores them
 * compressed, as `ide.js.gz`, with a quarter of their size.
 */
import { createReadStream, existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { pipeline } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { createGunzip, type Gunzip } from 'node:zlib'
import { file } from './file-reply.js'
import { isPlainPath } from './find-file.js'
import { type Reply, reply } from './reply.js'
import type { ServerRequest } from './server-request.js'

/** The content types of files that the build may have compressed, by extension. */
const compressedTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'application/javascript; charset=utf-8',
  '.ttf': 'font/ttf',
}

/** @param name the path of the file below the folder. For a name that is not in the folder the response is 404 */
export function pageFile(name: string, folder: string, { incoming }: ServerRequest): Reply {
  const type = compressedTypes[extname(name)]
  const compressed = `${name}.gz`
  const path = join(folder, compressed)
  if (type === undefined || !isPlainPath(name) || !existsSync(path))
    return file(name, { root: folder, inline: true })
  const response = acceptsGzip(incoming.headers['accept-encoding'])
    ? file(compressed, { root: folder, inline: true }).header('Content-Encoding', 'gzip')
    : reply(decompress(path))
  return response.type(type).header('Vary', 'Accept-Encoding')
}

/** An error destroys the stream, and with it the response. */
function decompress(path: string): Gunzip {
  return pipeline(createReadStream(path), createGunzip(), () => undefined)
}

function acceptsGzip(accepted: string | string[] | undefined): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(String(accepted ?? ''))
}

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
    const folder = folderAt(locate)
    if (folder !== undefined) return folder
  }
  throw new Error(
    `The files of the page "${name}" are missing. Deploy node_modules/filigree/dist/server/pages as "pages" next to the program.`,
  )
}

/** @returns undefined if the folder, or the package that contains it, does not exist */
function folderAt(locate: () => string): string | undefined {
  try {
    const folder = locate()
    return existsSync(folder) ? folder : undefined
  } catch {
    return undefined
  }
}
