/** Serves the files of folders: `static: { '/assets': './public' }`. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Problem } from '../errors/declaration-error.js'
import { FileBody, isPlainPath } from '../http/file-reply.js'
import { redirect, Reply } from '../http/reply.js'
import type { ServerRequest } from '../http/server-request.js'
import { joinPaths, parsePattern } from '../routing/pattern.js'
import type { Settings, StaticFolder } from './options.js'
import { frameworkRoute, type FrameworkRoute } from '../serving/framework-route.js'

/** The route of the files of a folder. */
export interface FolderRoute extends FrameworkRoute {
  /** True if the folder has something for this path below it. */
  readonly hasFile: (below: string) => boolean
}

/** Two routes for each folder: its files, and its `index.html` at the path itself. Both public, for GET and HEAD. */
export function staticRoutes(
  { static: folders, basePath, times }: Pick<Settings, 'static' | 'basePath' | 'times'>,
  problems: Problem[],
): { readonly pages: FrameworkRoute[]; readonly files: FolderRoute[] } {
  const pages: FrameworkRoute[] = []
  const files: FolderRoute[] = []
  for (const [written, entry] of Object.entries(folders)) {
    const where = `bootstrap static ${written}`
    const path = joinPaths(basePath, written)
    problems.push(...findFolderProblems(where, entry))
    const index = parsePattern(path, where, problems)
    const rest = parsePattern(joinPaths(path, '/<path:path>'), where, problems)
    if (index === undefined || rest === undefined) continue
    const common = { name: 'static', timeout: times.handler, notFoundWhenEmpty: true }
    const { folder } = entry
    const invoke = (): unknown => fileOf('index.html', folder)
    const invokeBelow = (request: ServerRequest): unknown => serveBelow(request, entry)
    pages.push(frameworkRoute({ ...common, pattern: index, invoke }))
    files.push({
      ...frameworkRoute({ ...common, pattern: rest, invoke: invokeBelow }),
      hasFile: (below) => findBelow(below, folder) !== undefined,
    })
  }
  return { pages, files }
}

function findFolderProblems(where: string, { folder, fallback }: StaticFolder): Problem[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    return [
      {
        code: 'STATIC_FOLDER',
        message: `${where}: there is no folder ${folder}.`,
        remedy: `Create it, or give a path relative to ${process.cwd()}.`,
      },
    ]
  }
  if (fallback === undefined || findBelow(fallback, folder) === 'file') return []
  return [
    {
      code: 'STATIC_FOLDER',
      message: `${where}: the folder has no file ${fallback} for its fallback.`,
      remedy: `Create it, or give a path relative to ${folder}.`,
    },
  ]
}

/** A folder's page is served at its path with a slash, so that its relative links work; a file's path has none. */
function serveBelow(
  { pathValues, sentPath, url, incoming }: ServerRequest,
  { folder, fallback }: StaticFolder,
): unknown {
  const below = String(pathValues[0])
  if (!isPlainPath(below, true)) return null
  const found = findBelow(below, folder)
  if (found === 'page') {
    if (sentPath.endsWith('/')) return fileOf(`${below}/index.html`, folder)
    return redirect(`${sentPath}/${url.slice(sentPath.length)}`, 301)
  }
  if (found === 'file' && !sentPath.endsWith('/')) return fileOf(below, folder)
  if (fallback === undefined || !acceptsHtml(incoming.headers.accept)) return null
  return fileOf(fallback, folder).header('Vary', 'Accept')
}

/** The application chose the files of the folder, so that browsers may execute them. */
function fileOf(path: string, root: string): Reply<FileBody> {
  return new Reply(new FileBody(path, { root, inline: true }, true))
}

/** @returns `page` for a folder with an `index.html` */
function findBelow(below: string, root: string): 'file' | 'page' | undefined {
  if (!isPlainPath(below, true)) return undefined
  const found = statSync(join(root, below), { throwIfNoEntry: false })
  if (found?.isFile() === true) return 'file'
  if (found?.isDirectory() !== true) return undefined
  const index = statSync(join(root, below, 'index.html'), { throwIfNoEntry: false })
  return index?.isFile() === true ? 'page' : undefined
}

/** Browsers name HTML when they open a page, and not when they load a script, a picture or data. */
function acceptsHtml(accept: string | undefined): boolean {
  return /(?:^|,)\s*(?:text\/html|application\/xhtml\+xml)\s*(?:;(?!\s*q=0(?:\.0*)?\s*(?:,|$))[^,]*)?(?:,|$)/i.test(
    accept ?? '',
  )
}
