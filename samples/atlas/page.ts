/** The atlas's page: plain files on the browser client, and a policy that lets nothing else in. */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { file, type BootstrapOptions, type Reply } from 'filigree'

// The compiler copies no pages: they are read where they were written, also by what it compiled.
const project = dirname(createRequire(import.meta.url).resolve('filigree/package.json'))
const folder = join(project, 'samples/atlas/page')

/** What the page needs of the application: its parts at `/assets`, the client at `/filigree.js`. */
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

/** Browsers name HTML among what they accept; programs do not. */
export function wantsPage(accept: string | undefined): boolean {
  return accept?.includes('text/html') ?? false
}

export function startPage(): Reply {
  return file('index.html', { root: folder })
    .header('Content-Security-Policy', policy)
    .header('Referrer-Policy', 'no-referrer')
    .header('Vary', 'Accept')
}
