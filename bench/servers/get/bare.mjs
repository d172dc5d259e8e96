/** The limit: node:http and nothing else. */
import { createServer } from 'node:http'
import { corsList, itemOf, listen } from '../contract.mjs'

const found = ['Content-Type', 'application/json; charset=utf-8', ...corsList]

const server = createServer((request, response) => {
  const { url } = request
  const id = url.startsWith('/items/') ? Number(url.slice(7)) : NaN
  if (request.method !== 'GET' || !Number.isSafeInteger(id)) {
    const body = '{"error":"Not found"}'
    response.writeHead(404, [...found, 'Content-Length', body.length])
    response.end(body)
    return
  }
  const body = JSON.stringify(itemOf(id))
  response.writeHead(200, [...found, 'Content-Length', Buffer.byteLength(body)])
  response.end(body)
})
listen(server)
