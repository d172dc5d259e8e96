/** The limit: `Bun.serve` that parses and stringifies, and validates nothing. */
import { announce, cors } from '../contract.mjs'

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (request) => Response.json(await request.json(), { headers: cors }),
})
announce(`http://127.0.0.1:${server.port}`)
