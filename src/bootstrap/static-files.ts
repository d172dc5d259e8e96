/** Serves the files of folders: `static: { '/assets': './public' }`. */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Problem } from '../errors/declaration-error.js'
import { file, isPlainPath } from '../http/file-reply.js'
import { redirect } from '../http/reply.js'
import type { ServerRequest } from '../http/server-request.js'
import { joinPaths, parsePattern } from '../routing/pattern.js'
import type { Settings } from './options.js'
import { frameworkRoute, type FrameworkRoute } from '../serving/framework-route.js'

/** Two routes for each folder: its files, and its `index.html` at the path itself. Both public, for GET and HEAD. */
export function staticRoutes(
  { static: folders, basePath, times }: Pick<Settings, 'static' | 'basePath' | 'times'>,
  problems: Problem[],
): FrameworkRoute[] {
  return Object.entries(folders).flatMap(([written, root]) => {
    const where = `bootstrap static ${written}`
    const path = joinPaths(basePath, written)
    if (!isFolder(root)) {
      problems.push({
        code: 'STATIC_FOLDER',
        message: `${where}: there is no folder ${root}.`,
        remedy: `Create it, or give a path relative to ${process.cwd()}.`,
      })
    }
    const index = parsePattern(path, where, problems)
    const rest = parsePattern(joinPaths(path, '/<path:path>'), where, problems)
    if (index === undefined || rest === undefined) return []
    const common = { name: 'static', timeout: times.handler, notFoundWhenEmpty: true }
    const named = (request: ServerRequest): unknown => serveBelow(request, root)
    return [
      frameworkRoute({
        ...common,
        pattern: index,
        invoke: () => file('index.html', { root, inline: true }),
      }),
      frameworkRoute({ ...common, pattern: rest, invoke: named }),
    ]
  })
}

/** A folder's page is served at its path with a slash, so that its relative links work; a file's path has none. */
function serveBelow({ pathValues, sentPath, url }: ServerRequest, root: string): unknown {
  const below = String(pathValues[0])
  if (sentPath.endsWith('/')) return file(`${below}/index.html`, { root, inline: true })
  if (isPlainPath(below) && existsSync(join(root, below, 'index.html'))) {
    return redirect(`${sentPath}/${url.slice(sentPath.length)}`, 301)
  }
  return file(below, { root, inline: true })
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
