/**
 * The pages of signing in and out: one stores the token in the browser, one continues to a URL, one sends a posted response
 * again, and one shows an error.
 * The pages load no files, cannot be framed, and send no referrer (CSP 3 §8).
 */
import { createHash } from 'node:crypto'
import { escapeHtml, html, HttpError, type HttpRequest, type Reply } from '../../index.js'

/** The script is constant, so that the policy can contain its hash. Its data is in attributes of the page. */
const tokenScript = `const { key, token, to } = document.body.dataset
try {
  localStorage.setItem(key, token)
  location.replace(to)
} catch {
  document.getElementById('blocked').hidden = false
}`

const redirectScript = 'location.replace(document.body.dataset.to)'

const submitScript = 'document.forms[0].submit()'

const style =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}'

/** A page that stores the token in the browser and opens the target, without a history entry. */
export function tokenPage(values: { token: string; key: string; to: string }): Reply<string> {
  const data = Object.entries(values).map(([name, value]) => `data-${name}="${escapeHtml(value)}"`)
  const body = `<body ${data.join(' ')}><main>
<p id="blocked" hidden>Your browser blocks storage for this page, so you cannot be signed in. Allow this page to store data.</p>
<noscript><p>Signing in needs JavaScript.</p></noscript></main>
<script>${tokenScript}</script>`
  return page('Signing in', body, 200, tokenScript).freshToken(values.token, { crossSite: true })
}

/** A page that opens a URL of another origin. After a form, `form-action 'self'` would block a redirect. */
export function redirectPage(to: string): Reply<string> {
  const body = `<body data-to="${escapeHtml(to)}"><main><p><a href="${escapeHtml(to)}">Continue</a></p></main>
<script>${redirectScript}</script>`
  return page('Signing out', body, 200, redirectScript)
}

/**
 * A page that sends the provider's response again, from this application. Browsers send no `SameSite=Lax` cookies with a
 * form of another site, so the first request lacks the cookie of the sign-in.
 */
export function resendPage(action: string, fields: URLSearchParams): Reply<string> {
  const inputs = [...fields].map(
    ([name, value]) =>
      `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  )
  const body = `<body><main><form method="post" action="${escapeHtml(action)}">
${inputs.join('\n')}
<button>Continue</button></form></main>
<script>${submitScript}</script>`
  return page('Signing in', body, 200, submitScript, "'self'")
}

/** @param signInUrl the address at which the sign-in begins */
export function refusalPage(error: HttpError, signInUrl: string): Reply<string> {
  const body = `<body><main><h1>You are not signed in</h1><p>${escapeHtml(error.message)}</p>
<p><a href="${escapeHtml(signInUrl)}">Try again</a></p></main>`
  const response = page('Not signed in', body, error.status)
  for (const [name, value] of Object.entries(error.headers ?? {})) response.header(name, value)
  return response
}

/** Whether the caller accepts HTML, as browsers do. Programs get JSON. */
export function acceptsHtml({ headers }: HttpRequest): boolean {
  return headers.accept?.includes('text/html') === true
}

/**
 * @param allowedScript the one script that may run
 * @param formTarget where a form may lead, as CSP writes it
 */
function page(
  title: string,
  body: string,
  status: number,
  allowedScript?: string,
  formTarget = "'none'",
): Reply<string> {
  const policy = [
    ...["default-src 'none'", `style-src '${hashOf(style)}'`],
    ...(allowedScript === undefined ? [] : [`script-src '${hashOf(allowedScript)}'`]),
    ...["base-uri 'none'", `form-action ${formTarget}`, "frame-ancestors 'none'"],
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
