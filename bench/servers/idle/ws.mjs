/** node:http with ws: a message to each WebSocket at the beginning and after each POST. */
import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'
import { listen } from '../contract.mjs'
import { firstTicket, nextTicket } from './tickets.mjs'

const tickets = [firstTicket]
const server = createServer((request, response) => {
  if (request.method === 'POST') {
    tickets.push(nextTicket)
    const message = JSON.stringify({ data: tickets })
    for (const socket of sockets.clients) socket.send(message)
  }
  response.end(JSON.stringify(tickets))
})
const sockets = new WebSocketServer({ server, perMessageDeflate: false })
sockets.on('connection', (socket) => socket.send(JSON.stringify({ data: tickets })))
listen(server)
