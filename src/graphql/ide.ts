/** The IDE: Altair, served from files of the package, without requests to other origins. Source: decisions, GraphQL. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pageFolder } from '../core/page-files.js'
import { file } from '../http/file-reply.js'
import { html, reply, type Reply } from '../http/reply.js'

let cachedFolder: string | undefined

function ideFolder(): string {
  cachedFolder ??= pageFolder({ name: 'altair', package: 'altair-static', subfolder: 'build/dist' })
  return cachedFolder
}

const pagePolicy = [
  "default-src 'self'",
  "script-src 'self'",
  // Angular adds the styles of components to the page at run time.
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

/** Hides the only banner. It advertises a plugin from another origin, which the policy forbids. */
const withoutBanners = '<style>app-banner-container { display: none }</style>'

/** @param path the path of the endpoint */
export function idePage(path: string): Reply<string> {
  const page = readFileSync(join(ideFolder(), 'index.html'), 'utf8')
    .replace(/<base.*>/, `<base href="${baseUrl(path)}">`)
    .replace('</head>', `${withoutBanners}</head>`)
    .replace('</body>', '<script type="module" src="initial_options.js"></script></body>')
  return withoutReferrer(html(page))
    .header('Content-Security-Policy', pagePolicy)
    .header('Cache-Control', 'no-cache')
}

/** The script that starts the page. A separate file, because the policy forbids scripts within the page. */
export function ideStart(path: string): Reply<string> {
  const options = { baseURL: baseUrl(path), endpointURL: path, disableAccount: true }
  return withoutReferrer(reply(`AltairGraphQL.init(${JSON.stringify(options)})`))
    .type('text/javascript; charset=utf-8')
    .header('Cache-Control', 'no-cache')
}

/** @param name the path of a file below `ide/` */
export function ideFile(name: string): Reply {
  const response = withoutReferrer(file(name, { root: ideFolder(), inline: true }))
  // Not all file names contain a hash of the content, so browsers cache files for one day only.
  response.header('Cache-Control', 'public, max-age=86400')
  // This frame runs scripts of the user.
  return name.split('/').includes('iframe-sandbox')
    ? response.header('Content-Security-Policy', 'sandbox allow-scripts')
    : response
}

function baseUrl(path: string): string {
  return `${path === '/' ? '' : path}/ide/`
}

function withoutReferrer<Body>(response: Reply<Body>): Reply<Body> {
  return response.header('Referrer-Policy', 'no-referrer')
}
