/** The atlas's page: plain files that use the browser client, and a policy that allows nothing else. */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { file, type BootstrapOptions, type Reply } from 'filigree'

// The compiler does not copy pages, so compiled code reads them from the source folder, too.
const project = dirname(createRequire(import.meta.url).resolve('filigree/package.json'))
const folder = join(project, 'samples/atlas/page')

/** The routes that the page needs: its files at `/assets`, the client at `/filigree.js`. */
export const pageOptions = {
  static: { '/assets': join(folder, 'assets') },
  client: true,
} satisfies BootstrapOptions

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Browsers list HTML in `Accept`; programs do not. */
export function wantsPage(accept: string | undefined): boolean {
  return accept?.includes('text/html') ?? false
}

export function startPage(): Reply {
  return file('index.html', { root: folder, inline: true })
    .header('Content-Security-Policy', policy)
    .header('Referrer-Policy', 'no-referrer')
    .header('Vary', 'Accept')
}
