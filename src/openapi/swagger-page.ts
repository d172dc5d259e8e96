/**
 * The page that shows the document, and the script that starts it. Both are the same for all applications: they contain
 * nothing of the document, so no text of it can become markup or script.
 */

/**
 * @param base the prefix of the addresses of the page's parts: `swagger/`, or empty if the page's own path ends in a
 * slash
 */
export function swaggerPage(base: string): string {
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
<p id="token-fault" role="alert"></p>
</form>
<div id="swagger-ui"></div>
<noscript>This page needs JavaScript. The document itself is at <a href="${base}openapi.json">openapi.json</a>.</noscript>
<script src="${base}swagger-ui-bundle.js" defer></script>
<script src="${base}page.js" defer></script>
</body>
</html>
`
}

export const pageStyle = `body { margin: 0; background: #fafafa; }
#token { max-width: 30rem; margin: 4rem auto; padding: 1rem; font-family: sans-serif; }
#token-text { width: 100%; box-sizing: border-box; margin: .5rem 0; padding: .4rem; }
#token-fault { color: #b00020; }
`

/** Runs in the browser. If the document needs a token, the page asks for it, and uses it for trying routes, too. */
export const pageScript = `'use strict';
const address = (name) => new URL(name, document.currentScript.src).href;
const version = new URLSearchParams(location.search).get('version');
const documentAddress = address('openapi.json')
  + (version === null ? '' : '?version=' + encodeURIComponent(version));
const form = document.getElementById('token');
const fault = document.getElementById('token-fault');

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
  fault.textContent = token === undefined ? '' : 'This token is not accepted.';
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
export function pagePolicy(servers: readonly { readonly url: string }[]): string {
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
