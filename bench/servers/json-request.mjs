const headers = { 'Content-Type': 'application/json', Accept: 'application/json' }

/** A request with a body of JSON. */
export const sendJson = (method, path, body) => ({
  method,
  path,
  headers,
  body: JSON.stringify(body),
})
