/** Sends files of the framework's pages. The build stores them compressed, as `ide.js.gz`, with a quarter of their size. */
import { createReadStream, existsSync } from 'node:fs'
import { extname, join } from 'node:path'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { file, isPlainPath } from './file-reply.js'
import { type Reply, reply } from './reply.js'
import type { ServerRequest } from './server-request.js'

/** The types of files that can be compressed. */
const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'application/javascript; charset=utf-8',
  '.ttf': 'font/ttf',
}

/** @param name the path of the file below the folder. For a name that is not in the folder the response is 404 */
export function pageFile(name: string, folder: string, { incoming }: ServerRequest): Reply {
  const type = types[extname(name)]
  const compressed = `${name}.gz`
  const path = join(folder, compressed)
  if (type === undefined || !isPlainPath(name) || !existsSync(path))
    return file(name, { root: folder, inline: true })
  const response = acceptsGzip(incoming.headers['accept-encoding'])
    ? file(compressed, { root: folder, inline: true }).header('Content-Encoding', 'gzip')
    : // An error destroys the stream, and with it the response.
      reply(pipeline(createReadStream(path), createGunzip(), () => undefined))
  return response.type(type).header('Vary', 'Accept-Encoding')
}

function acceptsGzip(accepted: string | string[] | undefined): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(String(accepted ?? ''))
}
