/**
 * Routes that serve files: the folders of `static: { '/assets': './public' }`, and the browser client at `/filigree.js`
 * (which sets `window.api`), `/filigree-live.js` and `/filigree-passkeys.js`. Source: specification, "Browser fetch
 * client".
 */
import { execFile } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Problems } from '../errors/problems.js'
import { joinPaths, parsePattern } from '../routing/pattern.js'
import type { Invoker } from '../serving/invoker.js'
import { frameworkRoute, type FrameworkRoute } from '../serving/framework-route.js'
import { FileBody } from '../http/file-reply.js'
import { isPlainPath, statIfPresent } from '../http/find-file.js'
import { createCachedText, redirect, Reply } from '../http/reply.js'
import { namesMedia } from '../http/accept.js'
import type { ServerRequest } from '../http/server-request.js'
import type { Settings, StaticFolder } from './options.js'

const scriptName = 'filigree.min.js'
const javascript = 'text/javascript; charset=utf-8'
const json = 'application/json; charset=utf-8'

/** The source map is at the address in the script's last line. */
const files = [
  { path: '/filigree.js', name: scriptName, type: javascript },
  { path: '/filigree-live.js', name: 'live.min.js', type: javascript },
  { path: '/live.min.js.map', name: 'live.min.js.map', type: json },
  { path: '/filigree-passkeys.js', name: 'passkeys.min.js', type: javascript },
  { path: '/passkeys.min.js.map', name: 'passkeys.min.js.map', type: json },
  { path: '/filigree.min.js.map', name: 'filigree.min.js.map', type: json },
] as const

type ClientFile = (typeof files)[number]['name']

/** True if the module runs from its source, under a loader, and not from the published package. */
const fromSource = import.meta.url.endsWith('.ts')

/**
 * Routes for the script and its source map, both public, for GET and HEAD. Caches check each time whether the script has
 * changed. With a version in the address, `/filigree.js?v=2`, they store it for a year without a check.
 *
 * @param enabled false makes no routes
 * @param problems receives `CLIENT_MISSING` if the script was not built
 */
export function scriptRoutes(
  enabled: boolean,
  timeout: number,
  problems: Problems,
  basePath = '',
): FrameworkRoute[] {
  if (!enabled) return []
  const readFile = fromSource ? readFromSource() : readBuilt(problems)
  const read = async (name: ClientFile): Promise<string> =>
    name === scriptName ? withBaseUrl(basePath, await readFile(name)) : readFile(name)
  return files.flatMap(({ path, name, type }) => {
    const pattern = parsePattern(joinPaths(basePath, path), problems.at(`bootstrap client ${path}`))
    if (pattern === undefined) return []
    const script = createCachedText(type, () => read(name))
    const invoke: Invoker = async (request) => {
      const reply = await script(request)
      if (request.query.v === undefined) return reply
      return reply.header('Cache-Control', 'public, max-age=31536000, immutable')
    }
    return [frameworkRoute({ pattern, name: 'client', invoke, timeout })]
  })
}

/**
 * With a prefix, the script sends its requests below it. It is inserted before the last line, which names the source
 * map.
 */
function withBaseUrl(basePath: string, script: string): string {
  if (basePath === '') return script
  const settings = `window.api.configure({baseUrl:${JSON.stringify(basePath)}})`
  const map = script.lastIndexOf('//#')
  return map === -1
    ? `${script}\n${settings}`
    : `${script.slice(0, map)}${settings}\n${script.slice(map)}`
}

type ReadFile = (name: ClientFile) => Promise<string>

function readBuilt(problems: Problems): ReadFile {
  const script = findScript()
  if (script === undefined) {
    problems.at('bootstrap').add({
      code: 'CLIENT_MISSING',
      message: 'client is true, but dist/client/filigree.min.js is missing.',
      remedy: 'Build the package: npm run build.',
    })
  }
  return (name) => readFile(join(script ?? '', '..', name), 'utf8')
}

function findScript(): string | undefined {
  try {
    const path = createRequire(import.meta.url).resolve('filigree/client/script')
    return existsSync(path) ? path : undefined
  } catch {
    // Some module resolvers throw for a missing file.
    return undefined
  }
}

/** Builds the script at the first request, so that tests and `tsx` serve the current source. */
function readFromSource(): ReadFile {
  let built: Promise<Record<ClientFile, string>> | undefined
  return async (name) => (await (built ??= buildFiles()))[name]
}

async function buildFiles(): Promise<Record<ClientFile, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'filigree-client-'))
  try {
    const build = fileURLToPath(new URL('../../client/build.mjs', import.meta.url))
    // In a separate process, because bundlers do not run inside a test's realm.
    await promisify(execFile)(process.execPath, [build, folder])
    const texts = files.map(async ({ name }) => [name, await readFile(join(folder, name), 'utf8')])
    return Object.fromEntries(await Promise.all(texts)) as Record<ClientFile, string>
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** The route of the files of a folder. */
export interface FolderRoute extends FrameworkRoute {
  /** True if the folder has something for this path below it. */
  readonly hasFile: (below: string) => boolean
}

/** Two routes for each folder: its files, and its `index.html` at the path itself. Both public, for GET and HEAD. */
export function staticRoutes(
  { static: folders, basePath, times }: Pick<Settings, 'static' | 'basePath' | 'times'>,
  problems: Problems,
): { readonly pages: FrameworkRoute[]; readonly files: FolderRoute[] } {
  const pages: FrameworkRoute[] = []
  const files: FolderRoute[] = []
  for (const [written, entry] of Object.entries(folders)) {
    const folderProblems = problems.at(`bootstrap static ${written}`)
    const path = joinPaths(basePath, written)
    checkFolder(entry, folderProblems)
    const index = parsePattern(path, folderProblems)
    const rest = parsePattern(joinPaths(path, '/<path:path>'), folderProblems)
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

function checkFolder({ folder, fallback }: StaticFolder, problems: Problems): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    problems.add({
      code: 'STATIC_FOLDER',
      message: `the folder ${folder} does not exist.`,
      remedy: `Create it, or use a path relative to ${process.cwd()}.`,
    })
  } else if (fallback !== undefined && findBelow(fallback, folder) !== 'file') {
    problems.add({
      code: 'STATIC_FOLDER',
      message: `the folder has no file ${fallback} for its fallback.`,
      remedy: `Create it, or use a path relative to ${folder}.`,
    })
  }
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
  const found = statIfPresent(join(root, below))
  if (found?.isFile() === true) return 'file'
  if (found?.isDirectory() !== true) return undefined
  const index = statIfPresent(join(root, below, 'index.html'))
  return index?.isFile() === true ? 'page' : undefined
}

/** Browsers accept HTML when they open a page, and not when they load a script, a picture or data. */
function acceptsHtml(accept = ''): boolean {
  return namesMedia(accept, pageTypes)
}

const pageTypes: readonly string[] = ['text/html', 'application/xhtml+xml']
