/**
 * The page and the files under `/swagger`. Each file is created or read when it is first requested. The page and its
 * script are the same for all applications: they contain no text of the document, so that no text of it can become
 * markup or script.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AccessRule } from '../auth/access.js'
import { pageFolder, pageFile } from '../http/page-files.js'
import { HttpError } from '../errors/http-error.js'
import { createCachedText, hardened, html, type Reply } from '../http/reply.js'
import type { ServerRequest } from '../http/server-request.js'
import type { ResolvedDocs } from './docs-options.js'
import { type OpenApiDocument, toYaml } from './document.js'

/**
 * @param base the prefix of the addresses of the page's parts: `swagger/`, or empty if the page's own path ends in a
 * slash
 */
function swaggerPage(base: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API documentation</title>
<link rel="icon" type="image/png" sizes="32x32" href="${base}favicon-32x32.png">
<link rel="stylesheet" href="${base}swagger-ui.css">
<link rel="stylesheet" href="${base}page.css">
</head>
<body>
<form id="token" hidden>
<label for="token-text">This documentation is protected. Your token:</label>
<input id="token-text" type="password" autocomplete="off" required>
<button>Open</button>
<p id="token-error" role="alert"></p>
</form>
<div id="swagger-ui"></div>
<noscript>This page needs JavaScript. The document itself is at <a href="${base}openapi.json">openapi.json</a>.</noscript>
<script src="${base}swagger-ui-bundle.js" defer></script>
<script src="${base}page.js" defer></script>
</body>
</html>
`
}

/**
 * Allows only the page's own parts: no inline script or style, no other origin.
 *
 * @param servers the addresses for trying routes; those of other origins are allowed
 */
function pagePolicy(servers: readonly { readonly url: string }[]): string {
  const origins = servers
    .filter(({ url }) => URL.canParse(url))
    .map(({ url }) => new URL(url).origin)
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src ${["'self'", ...new Set(origins)].join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

export interface DocsFile {
  /** A pattern: `/swagger/<file>`. */
  readonly path: string
  /** For documents the rule of the options; page, script and styles contain no information. */
  readonly access: AccessRule
  readonly respond: (request: ServerRequest) => Reply | Promise<Reply>
}

/** Returns the document of a version, by default of the newest. */
export interface ReadDocument {
  (version?: string): OpenApiDocument
  /** All versions; an empty list if no controller has one. */
  readonly versions: readonly string[]
}

/** @param read called when a document is first requested */
export function docsFiles(docs: ResolvedDocs, read: ReadDocument): readonly DocsFile[] {
  const { path, access, pageAccess } = docs
  const policy = pagePolicy(docs.servers)
  const json = fileByVersion(read.versions, (version) =>
    createCachedText('application/json; charset=utf-8', () => JSON.stringify(read(version))),
  )
  const yaml = fileByVersion(read.versions, (version) =>
    createCachedText('application/yaml; charset=utf-8', () => toYaml(read(version))),
  )
  const style = createCachedText('text/css; charset=utf-8', () => readPageFile('page.css'))
  const script = createCachedText('text/javascript; charset=utf-8', () => readPageFile('page.js'))
  return [
    {
      path,
      access: pageAccess,
      respond: (request) => {
        // A relative address, so that it works behind a proxy that removes a prefix.
        const base = request.sentPath.endsWith('/')
          ? ''
          : `${path.slice(path.lastIndexOf('/') + 1)}/`
        return hardened(html(swaggerPage(base)))
          .header('Content-Security-Policy', policy)
          .header('X-Frame-Options', 'DENY')
      },
    },
    { path: `${path}/openapi.json`, access, respond: json },
    { path: `${path}/openapi.yaml`, access, respond: yaml },
    { path: `${path}/page.css`, access: pageAccess, respond: style },
    { path: `${path}/page.js`, access: pageAccess, respond: script },
    { path: `${path}/<file>`, access: pageAccess, respond: respondWithAsset },
  ]
}

/** `?version=2`: one file for each version, and one for requests without a version. */
function fileByVersion(
  versions: readonly string[],
  create: (version: string | undefined) => DocsFile['respond'],
): DocsFile['respond'] {
  const usual = create(undefined)
  if (versions.length === 0) return usual
  const files = new Map(versions.map((version) => [version, create(version)]))
  return (request) => {
    const { version } = request.query
    if (version === undefined) return usual(request)
    const file = typeof version === 'string' ? files.get(version) : undefined
    if (file === undefined) throw new HttpError(404, 'This version does not exist.')
    return file(request)
  }
}

/** The files of swagger-ui that the page needs. */
const assets: ReadonlySet<string> = new Set([
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'favicon-32x32.png',
])

function respondWithAsset(request: ServerRequest): Reply {
  const name = String(request.pathValues[0])
  if (!assets.has(name)) throw new HttpError(404)
  assetsFolder ??= pageFolder({ name: 'swagger-ui', package: 'swagger-ui-dist', subfolder: '' })
  return pageFile(name, assetsFolder, request)
}

let assetsFolder: string | undefined

/** @param name a file of `openapi/page` */
function readPageFile(name: string): string {
  const folder = pageFolder({
    name: 'swagger',
    package: 'filigree',
    subfolder: 'src/openapi/page',
  })
  return readFileSync(join(folder, name), 'utf8')
}
