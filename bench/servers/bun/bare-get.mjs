/** The limit: `Bun.serve` and nothing else. */
import { announce, cors, itemOf } from '../contract.mjs'

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch(request) {
    const { pathname } = new URL(request.url)
    const id = pathname.startsWith('/items/') ? Number(pathname.slice(7)) : NaN
    if (request.method !== 'GET' || !Number.isSafeInteger(id)) {
      return Response.json({ error: 'Not found' }, { status: 404, headers: cors })
    }
    return Response.json(itemOf(id), { headers: cors })
  },
})
announce(`http://127.0.0.1:${server.port}`)
