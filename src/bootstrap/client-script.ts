/**
 * Serves the browser client to pages: `/filigree.js`, which sets `window.api`, and `/filigree-live.js` and
 * `/filigree-passkeys.js`, which add to it. Source: specification, "Browser fetch client".
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Problem } from '../errors/declaration-error.js'
import { createCachedText } from '../http/cached-text.js'
import { joinPaths, parsePattern } from '../routing/pattern.js'
import type { Invoker } from '../serving/invoker.js'
import { frameworkRoute, type FrameworkRoute } from '../serving/framework-route.js'

const scriptName = 'filigree.min.js'

/** The source map is at the address in the script's last line. */
const files = [
  { path: '/filigree.js', name: scriptName, type: 'text/javascript; charset=utf-8' },
  { path: '/filigree-live.js', name: 'live.min.js', type: 'text/javascript; charset=utf-8' },
  { path: '/live.min.js.map', name: 'live.min.js.map', type: 'application/json; charset=utf-8' },
  {
    path: '/filigree-passkeys.js',
    name: 'passkeys.min.js',
    type: 'text/javascript; charset=utf-8',
  },
  {
    path: '/passkeys.min.js.map',
    name: 'passkeys.min.js.map',
    type: 'application/json; charset=utf-8',
  },
  {
    path: '/filigree.min.js.map',
    name: 'filigree.min.js.map',
    type: 'application/json; charset=utf-8',
  },
] as const

type ClientFile = (typeof files)[number]['name']

/** True if the module runs from its source, under a loader, and not from the published package. */
const fromSource = import.meta.url.endsWith('.ts')

/**
 * Routes for the script and its source map, both public, for GET and HEAD. Caches ask each time whether the script has
 * changed; with a version in the address, `/filigree.js?v=2`, they keep it for a year without asking.
 *
 * @param enabled false makes no routes
 * @param problems receives `CLIENT_MISSING` if the script was not built
 */
export function scriptRoutes(
  enabled: boolean,
  timeout: number,
  problems: Problem[],
  basePath = '',
): FrameworkRoute[] {
  if (!enabled) return []
  const readFile = fromSource ? readFromSource() : readBuilt(problems)
  const read = async (name: ClientFile): Promise<string> =>
    name === scriptName ? asksBelow(basePath, await readFile(name)) : readFile(name)
  return files.flatMap(({ path, name, type }) => {
    const where = `bootstrap client ${path}`
    const pattern = parsePattern(joinPaths(basePath, path), where, problems)
    if (pattern === undefined) return []
    const script = createCachedText(type, () => read(name))
    const invoke: Invoker = async (request) => {
      const answer = await script(request)
      if (request.query.v === undefined) return answer
      return answer.header('Cache-Control', 'public, max-age=31536000, immutable')
    }
    return [frameworkRoute({ pattern, name: 'client', invoke, timeout })]
  })
}

/**
 * With a prefix, the script sends its requests below it. It is inserted before the last line, which names the source
 * map.
 */
function asksBelow(basePath: string, script: string): string {
  if (basePath === '') return script
  const settings = `window.api.configure({baseUrl:${JSON.stringify(basePath)}})`
  const map = script.lastIndexOf('//#')
  return map === -1
    ? `${script}\n${settings}`
    : `${script.slice(0, map)}${settings}\n${script.slice(map)}`
}

type ReadFile = (name: ClientFile) => Promise<string>

function readBuilt(problems: Problem[]): ReadFile {
  const script = findScript()
  if (script === undefined) {
    problems.push({
      code: 'CLIENT_MISSING',
      message: 'bootstrap: client is true, but dist/client/filigree.min.js is missing.',
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
