/** The limit of GraphQL over WebSockets: the library `ws`, and one prepared statement whose result is the answer's text. */
import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'
import { listen } from '../contract.mjs'
import { statements } from './bare-sqlite.mjs'

const server = createServer()
const sockets = new WebSocketServer({ server, path: '/graphql' })
sockets.on('connection', (socket) => {
  socket.on('message', (bytes) => {
    const { type, id, payload } = JSON.parse(bytes)
    if (type === 'connection_init') {
      socket.send('{"type":"connection_ack"}')
    } else if (type === 'subscribe') {
      const answer = statements.one(payload.variables.id)
      socket.send(`{"id":"${id}","type":"next","payload":${answer}}`)
      socket.send(`{"id":"${id}","type":"complete"}`)
    }
  })
})
listen(server)
