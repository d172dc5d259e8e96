/** Serves folders as they are: `static: { '/assets': './public' }`. */
import { statSync } from 'node:fs'
import type { Problem } from '../errors/declaration-error.js'
import { file } from '../http/file-reply.js'
import type { HttpRequest } from '../http/request.js'
import { joinPaths, parsePattern, type Pattern } from '../routing/pattern.js'
import type { ServedRoute } from './served-route.js'

export interface StaticRoute {
  readonly pattern: Pattern
  readonly served: ServedRoute
}

/** Two routes a folder: its files, and its `index.html` at the path itself. Both public, for GET and HEAD. */
export function staticRoutes(
  folders: Readonly<Record<string, string>>,
  timeout: number,
  problems: Problem[],
): StaticRoute[] {
  return Object.entries(folders).flatMap(([path, root]) => {
    const where = `bootstrap static ${path}`
    if (!isFolder(root)) {
      problems.push({
        code: 'STATIC_FOLDER',
        message: `${where}: there is no folder ${root}.`,
        remedy: `Make it, or name one relative to ${process.cwd()}.`,
      })
    }
    const answer = (pathNames: readonly string[], invoke: ServedRoute['invoke']): ServedRoute => ({
      name: `static ${path}`,
      pathNames,
      before: [],
      invoke,
      shape: undefined,
      after: [],
      rule: { status: 200, notFoundWhenEmpty: true },
      timeout,
    })
    const index = parsePattern(path, where, problems)
    const rest = parsePattern(joinPaths(path, '/<path:path>'), where, problems)
    if (index === undefined || rest === undefined) return []
    return [
      { pattern: index, served: answer([], () => file('index.html', { root })) },
      {
        pattern: rest,
        served: answer(rest.names, ({ pathValues }: HttpRequest) =>
          file(String(pathValues[0]), { root }),
        ),
      },
    ]
  })
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
