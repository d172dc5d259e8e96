/** What every contender answers and announces, so that all of them do the same work. Source: specification, Authentication 8. */

/** The three headers of the specification, on every response. */
export const cors = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
  'Access-Control-Allow-Headers': 'Origin, X-Requested-With, Content-Type, Accept, Authorization',
}

/** The same headers as `[name, value, name, value, …]`, the form that `writeHead` takes quickest. */
export const corsList = Object.entries(cors).flat()

/** The record that the GET rows answer. */
export const itemOf = (id) => ({ id, name: `Lamp ${id}`, price: 12.5, inStock: true })

/**
 * Tells the runner where this server listens.
 *
 * @param figures what the server measured about itself, e.g. `{ bootstrapMilliseconds: 41.2 }`
 */
export function announce(url, figures = {}) {
  process.stdout.write(`ready ${url} ${JSON.stringify(figures)}\n`)
}

/** Lets a `node:http` server listen on a free port and announces it. */
export function listen(server) {
  server.listen(0, '127.0.0.1', () => announce(`http://127.0.0.1:${server.address().port}`))
}
