/** The limit: node:http alone, which keeps idle connections for ten minutes, and event streams until they are closed. */
import { createServer } from 'node:http'
import { corsList, listen } from '../contract.mjs'
import { firstTicket, nextTicket } from './tickets.mjs'

const head = ['Content-Type', 'application/json; charset=utf-8', ...corsList]
const streamHead = ['Content-Type', 'text/event-stream', 'Cache-Control', 'no-store', ...corsList]
const tickets = [firstTicket]
const streams = new Set()
const event = () => `event: live\ndata: ${JSON.stringify({ data: tickets })}\n\n`

const server = createServer((request, response) => {
  if (request.method === 'POST') {
    tickets.push(nextTicket)
    for (const stream of streams) stream.write(event())
  }
  if (request.headers.accept === 'text/event-stream') {
    response.writeHead(200, streamHead)
    response.write(event())
    streams.add(response)
    response.on('close', () => streams.delete(response))
    return
  }
  const body = JSON.stringify(tickets)
  response.writeHead(200, [...head, 'Content-Length', Buffer.byteLength(body)])
  response.end(body)
})
server.keepAliveTimeout = 600_000
listen(server)
