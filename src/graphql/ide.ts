/**
 * The GraphQL IDE: GraphiQL, whose files are in the package, so that no request leaves the origin. `client/ide` is its source.
 */
import { pageFolder } from '../core/page-files.js'
import { pageFile } from '../http/page-file.js'
import { html, type Reply } from '../http/reply.js'
import type { ServerRequest } from '../http/server-request.js'

const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  // The editor writes the styles of its themes into the page.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "worker-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** @param path the path of the endpoint */
export function idePage(path: string): Reply<string> {
  const folder = encodeURI(`${path === '/' ? '' : path}/ide`).replaceAll('&', '&amp;')
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>GraphQL</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${folder}/ide.css">
</head>
<body>
<main id="ide"></main>
<noscript>This page needs JavaScript. Send queries to this address by POST.</noscript>
<script type="module" src="${folder}/ide.js"></script>
</body>
</html>
`
  return html(page)
    .header('Content-Security-Policy', pagePolicy)
    .header('Cache-Control', 'no-cache')
    .header('Referrer-Policy', 'no-referrer')
}

/** @param name the path of a file of the page, below `ide/` */
export function ideFile(name: string, request: ServerRequest): Reply {
  cachedFolder ??= pageFolder({
    name: 'ide',
    package: 'filigree',
    subfolder: 'dist/server/pages/ide',
  })
  return pageFile(name, cachedFolder, request)
    .header('Cache-Control', 'no-cache')
    .header('Referrer-Policy', 'no-referrer')
}

let cachedFolder: string | undefined
