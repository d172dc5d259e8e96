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
import type { FilterForm } from './requests.js'

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
<script src="${base}page.js" defer></script>
<script src="${base}swagger-ui-bundle.js" defer></script>
<script src="${base}filters.js" defer></script>
<script src="${base}uploads.js" defer></script>
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

/** Returns the document of a version, by default of the newest, with filters in the form of the options by default. */
export interface ReadDocument {
  (version?: string, filters?: FilterForm): OpenApiDocument
  /** All versions; an empty list if no controller has one. */
  readonly versions: readonly string[]
}

/** @param read called when a document is first requested */
export function docsFiles(docs: ResolvedDocs, read: ReadDocument): readonly DocsFile[] {
  const { path, access, pageAccess } = docs
  const policy = pagePolicy(docs.servers)
  const json = documentFile(read, (version, filters) =>
    createCachedText('application/json; charset=utf-8', () =>
      JSON.stringify(read(version, filters)),
    ),
  )
  const yaml = documentFile(read, (version, filters) =>
    createCachedText('application/yaml; charset=utf-8', () => toYaml(read(version, filters))),
  )
  const parts = Object.entries(pageParts).map(([name, type]) => ({
    path: `${path}/${name}`,
    access: pageAccess,
    respond: createCachedText(type, () => readPageFile(name)),
  }))
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
    ...parts,
    { path: `${path}/<file>`, access: pageAccess, respond: respondWithAsset },
  ]
}

/**
 * Selects a file by the query: `?version=2` and `?filters=compact`. Each of them is created when it is first requested.
 *
 * @throws {HttpError} 404 for a version that does not exist, and 400 for another form of filters
 */
function documentFile(
  { versions }: ReadDocument,
  create: (version: string | undefined, filters: FilterForm | undefined) => DocsFile['respond'],
): DocsFile['respond'] {
  const files = new Map<string, DocsFile['respond']>()
  return (request) => {
    const { version, filters } = request.query
    const isVersion = typeof version === 'string' && versions.includes(version)
    if (versions.length > 0 && version !== undefined && !isVersion)
      throw new HttpError(404, 'This version does not exist.')
    if (filters !== undefined && filters !== 'exact' && filters !== 'compact')
      throw new HttpError(400, 'filters must be exact or compact')
    const chosen = isVersion ? version : undefined
    const key = JSON.stringify([chosen, filters])
    const file = files.get(key) ?? create(chosen, filters)
    files.set(key, file)
    return file(request)
  }
}

/** The page's own files, by name, with their media types. */
const pageParts = {
  'page.css': 'text/css; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'filters.js': 'text/javascript; charset=utf-8',
  'uploads.js': 'text/javascript; charset=utf-8',
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
