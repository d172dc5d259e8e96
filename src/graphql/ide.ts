/** The IDE: Altair, whose files lie in the package, so that no request leaves the origin. Source: decisions, GraphQL. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { RenderOptions } from 'altair-static'
import { pageFolder } from '../core/page-files.js'
import { file } from '../http/file-reply.js'
import { html, reply, type Reply } from '../http/reply.js'

/** The package's own declarations lean on others that it does not bring along. */
interface Altair {
  readonly renderAltair: (options: RenderOptions) => string
  readonly renderInitialOptions: (options: RenderOptions) => string
  readonly getDistDirectory: () => string
  readonly isSandboxFrame: (path: string) => boolean
  readonly SANDBOX_FRAME_CSP: string
}

let altair: Altair | undefined

/** Loaded when somebody opens the page. */
function loadAltair(): Altair {
  if (altair === undefined) {
    const folder = pageFolder({ name: 'altair', package: 'altair-static', subfolder: 'build' })
    // In the distribution everything that ends in `.js` is an ES module, which this one is not.
    const program = join(folder, 'index.cjs')
    const require = createRequire(import.meta.url)
    altair = require(existsSync(program) ? program : join(folder, 'index.js')) as Altair
  }
  return altair
}

const pagePolicy = [
  "default-src 'self'",
  "script-src 'self'",
  // Angular puts the styles of its components into the page as it goes.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "worker-src 'self' blob:",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Its only banner advertises a plugin that would come from elsewhere, which the policy forbids. */
const withoutBanners = '<style>app-banner-container { display: none }</style>'

/** @param path the endpoint's */
export function idePage(path: string): Reply<string> {
  const page = loadAltair()
    .renderAltair(optionsFor(path))
    .replace('</head>', `${withoutBanners}</head>`)
  return withoutReferrer(html(page))
    .header('Content-Security-Policy', pagePolicy)
    .header('Cache-Control', 'no-cache')
}

/** What the page starts with; a file of its own, since the policy lets no script stand in the page. */
export function ideStart(path: string): Reply<string> {
  return withoutReferrer(reply(loadAltair().renderInitialOptions(optionsFor(path))))
    .type('text/javascript; charset=utf-8')
    .header('Cache-Control', 'no-cache')
}

/** A file of the page, by its path below `ide/`. */
export function ideFile(name: string): Reply {
  const { getDistDirectory, isSandboxFrame, SANDBOX_FRAME_CSP } = loadAltair()
  const response = withoutReferrer(file(name, { root: getDistDirectory(), inline: true }))
  // The names of most files change with their content; those of a few do not, so a day it is.
  response.header('Cache-Control', 'public, max-age=86400')
  return isSandboxFrame(name)
    ? response.header('Content-Security-Policy', SANDBOX_FRAME_CSP)
    : response
}

function optionsFor(path: string): RenderOptions {
  return {
    baseURL: `${path === '/' ? '' : path}/ide/`,
    endpointURL: path,
    disableAccount: true,
    serveInitialOptionsInSeperateRequest: true,
  }
}

function withoutReferrer<Body>(response: Reply<Body>): Reply<Body> {
  return response.header('Referrer-Policy', 'no-referrer')
}
