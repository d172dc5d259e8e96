/** Serves folders as they are: `static: { '/assets': './public' }`. */
import { statSync } from 'node:fs'
import type { Problem } from '../errors/declaration-error.js'
import { file } from '../http/file-reply.js'
import type { ServerRequest } from '../http/server-request.js'
import { joinPaths, parsePattern } from '../routing/pattern.js'
import type { Settings } from './options.js'
import { pageRoute, type PageRoute } from '../serving/page-route.js'

/** Two routes a folder: its files, and its `index.html` at the path itself. Both public, for GET and HEAD. */
export function staticRoutes(
  { static: folders, basePath, times }: Pick<Settings, 'static' | 'basePath' | 'times'>,
  problems: Problem[],
): PageRoute[] {
  return Object.entries(folders).flatMap(([written, root]) => {
    const where = `bootstrap static ${written}`
    const path = joinPaths(basePath, written)
    if (!isFolder(root)) {
      problems.push({
        code: 'STATIC_FOLDER',
        message: `${where}: there is no folder ${root}.`,
        remedy: `Make it, or name one relative to ${process.cwd()}.`,
      })
    }
    const index = parsePattern(path, where, problems)
    const rest = parsePattern(joinPaths(path, '/<path:path>'), where, problems)
    if (index === undefined || rest === undefined) return []
    const common = { name: 'static', timeout: times.handler, notFoundWhenEmpty: true }
    const named = ({ pathValues }: ServerRequest): unknown => file(String(pathValues[0]), { root })
    return [
      pageRoute({ ...common, pattern: index, invoke: () => file('index.html', { root }) }),
      pageRoute({ ...common, pattern: rest, invoke: named }),
    ]
  })
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
