/** The limit: node:http that parses and stringifies, and validates nothing. */
import { createServer } from 'node:http'
import { corsList, listen } from '../contract.mjs'

const head = ['Content-Type', 'application/json; charset=utf-8', ...corsList]

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const bytes = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
    const body = JSON.stringify(JSON.parse(bytes.toString()))
    response.writeHead(200, [...head, 'Content-Length', Buffer.byteLength(body)])
    response.end(body)
  })
})
listen(server)
