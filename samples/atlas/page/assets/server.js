/**
 * The connection to the server: `window.api` of /filigree.js, with one addition. `fetch` does not report an upload's
 * progress (streamed bodies would, but only over HTTP/2 and not in every browser), so calls with `onProgress` use
 * XMLHttpRequest. It replaces `fetch` below the client, which still handles token, rotation and errors.
 */
export const { api } = window

api.configure({
  auth: true,
  fetch: (url, init) => (init.onProgress ? sendWithProgress(url, init) : fetch(url, init)),
})

/** @returns {Promise<Response>} `init.onProgress` is called with the sent part, from 0 to 1 */
function sendWithProgress(url, { method, headers, body, signal, onProgress }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open(method, url)
    request.responseType = 'blob'
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total)
    request.onload = () => resolve(toResponse(request))
    request.onerror = () => reject(new TypeError('The server cannot be reached.'))
    request.onabort = () => reject(signal.reason)
    signal.addEventListener('abort', () => request.abort())
    if (signal.aborted) reject(signal.reason)
    else request.send(body)
  })
}

function toResponse(request) {
  const lines = request.getAllResponseHeaders().trim().split('\r\n')
  const headers = lines.map((line) => line.split(/: (.*)/, 2))
  return new Response(request.response, { status: request.status, headers })
}

/** Every country, by name. */
export async function readCountries() {
  const { items, total, limit } = await readPage(0)
  const offsets = Array.from(
    { length: Math.ceil(total / limit) - 1 },
    (_, page) => (page + 1) * limit,
  )
  const rest = await Promise.all(offsets.map(readPage))
  const countries = [items, ...rest.map((page) => page.items)].flat()
  return countries.sort((one, other) => one.name.localeCompare(other.name))
}

const readPage = (offset) => api.get('/countries', { params: { limit: 100, offset } })
