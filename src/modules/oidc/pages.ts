/**
 * The pages of signing in and out: the one that gives the token to the browser's client, the one that goes on, and the refusal.
 * None loads anything, is framed, or tells anybody its address. Source: decisions, Sign-in; CSP 3 §8.
 */
import { createHash } from 'node:crypto'
import { html, HttpError, type HttpRequest, type Reply } from '../../index.js'

/** Its text never changes, so that its hash may stand in the policy; what it needs stands in the page. */
const script = `const { key, token, to } = document.body.dataset
try {
  localStorage.setItem(key, token)
  location.replace(to)
} catch {
  document.getElementById('blocked').hidden = false
}`

const going = 'location.replace(document.body.dataset.to)'

const style =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}'

/** Gives the token to the client's store and goes on, leaving nothing in the history. */
export function handOver(what: { token: string; key: string; to: string }): Reply<string> {
  const data = Object.entries(what).map(([name, value]) => `data-${name}="${escape(value)}"`)
  const body = `<body ${data.join(' ')}>
<p id="blocked" hidden>Your browser keeps nothing for this page, so that you cannot be signed in. Allow it to store data.</p>
<noscript><p>Signing in needs JavaScript.</p></noscript>
<script>${script}</script>`
  return page('Signing in', body, 200, script).freshToken(what.token, { crossSite: true })
}

/** Goes on from a form to another origin, which `form-action 'self'` of the page with the form keeps a redirect from. */
export function goOn(to: string): Reply<string> {
  const body = `<body data-to="${escape(to)}"><p><a href="${escape(to)}">Go on</a></p>
<script>${going}</script>`
  return page('Signing out', body, 200, going)
}

/** @param again the address at which the sign-in begins */
export function refusal(error: HttpError, again: string): Reply<string> {
  const body = `<body><h1>You are not signed in</h1><p>${escape(error.message)}</p>
<p><a href="${escape(again)}">Try again</a></p>`
  const answer = page('Not signed in', body, error.status)
  for (const [name, value] of Object.entries(error.headers ?? {})) answer.header(name, value)
  return answer
}

/** True for a browser that shows what comes; programs get JSON. */
export function showsPages({ headers }: HttpRequest): boolean {
  return headers.accept?.includes('text/html') === true
}

/** @param runs the one script that may run */
function page(title: string, body: string, status: number, runs?: string): Reply<string> {
  const policy = [
    ...["default-src 'none'", `style-src '${hashOf(style)}'`],
    ...(runs === undefined ? [] : [`script-src '${hashOf(runs)}'`]),
    ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ]
  const text = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${style}</style></head>
${body}</body></html>`
  return html(text, status)
    .header('Content-Security-Policy', policy.join('; '))
    .header('X-Frame-Options', 'DENY')
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}
