/**
 * The page and the files under `/swagger`. Each file is created or read when it is first requested. The page and its
 * script are the same for all applications: they contain no text of the document, so that no text of it can become
 * markup or script.
 */
import type { AccessRule } from '../auth/access.js'
import { pageFolder } from '../core/page-files.js'
import { HttpError } from '../errors/http-error.js'
import { file } from '../http/file-reply.js'
import { html, type Reply } from '../http/reply.js'
import type { ServerRequest } from '../http/server-request.js'
import { createCachedText, hardened } from '../http/cached-text.js'
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

const pageStyle = `body { margin: 0; background: #fafafa; }
#token { max-width: 30rem; margin: 4rem auto; padding: 1rem; font-family: sans-serif; }
#token-text { width: 100%; box-sizing: border-box; margin: .5rem 0; padding: .4rem; }
#token-error { color: #b00020; }
`

/** Runs in the browser. If the document needs a token, the page asks for one and also uses it for trying routes. */
const pageScript = `'use strict';
const address = (name) => new URL(name, document.currentScript.src).href;
const version = new URLSearchParams(location.search).get('version');
const documentAddress = address('openapi.json')
  + (version === null ? '' : '?version=' + encodeURIComponent(version));
const form = document.getElementById('token');
const error = document.getElementById('token-error');

function show(spec, token) {
  document.title = spec.info.title;
  const hidden = token !== undefined;
  const ui = SwaggerUIBundle({
    spec,
    dom_id: '#swagger-ui',
    presets: [SwaggerUIBundle.presets.apis],
    layout: 'BaseLayout',
    deepLinking: true,
    displayRequestDuration: true,
    queryConfigEnabled: false,
    validatorUrl: null,
    persistAuthorization: !hidden,
    // Deferred, because it may be called before the constructor has returned.
    onComplete: () => setTimeout(() => { if (hidden) ui.preauthorizeApiKey('bearerAuth', token); }),
  });
}

async function open(token) {
  const headers = token === undefined ? {} : { Authorization: 'Bearer ' + token };
  const response = await fetch(documentAddress, { headers });
  if (response.ok) {
    form.hidden = true;
    show(await response.json(), token);
    return;
  }
  form.hidden = false;
  error.textContent = token === undefined ? '' : 'This token is not accepted.';
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  open(document.getElementById('token-text').value);
});
open();
`

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
  const style = createCachedText('text/css; charset=utf-8', () => pageStyle)
  const script = createCachedText('text/javascript; charset=utf-8', () => pageScript)
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

function respondWithAsset({ pathValues }: ServerRequest): Reply {
  const name = String(pathValues[0])
  if (!assets.has(name)) throw new HttpError(404)
  return file(name, { root: packageFolder(), inline: true })
}

let folder: string | undefined

function packageFolder(): string {
  folder ??= pageFolder({ name: 'swagger-ui', package: 'swagger-ui-dist', subfolder: '' })
  return folder
}
