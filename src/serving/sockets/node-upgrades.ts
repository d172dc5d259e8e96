/** WebSockets of Node's server, by the library `ws`. */
import type { Socket } from 'node:net'
import { destroyAtEnd, type UpgradeHandler } from '../../http/upgrade.js'
import { subprotocol } from './graphql-messages.js'
import type { GraphqlSocket } from './graphql-socket.js'
import { forbiddenBody, type SocketEndpoints } from './socket-endpoints.js'
import { UnfinishedMessages } from './unfinished-messages.js'
import { createHandshakes } from './web-socket.js'

/** @returns undefined if `ws` is not installed */
export function createNodeUpgrades(endpoints: SocketEndpoints): UpgradeHandler | undefined {
  const handshakes = createHandshakes(endpoints.maxMessageBytes, subprotocol)
  if (handshakes === undefined) return undefined
  const unfinished = new UnfinishedMessages(endpoints.unfinished)
  return (incoming, transport, head) => {
    const handshake = endpoints.find(incoming)
    if (handshake === undefined) return undefined
    if (!handshake.isAllowed) {
      sendForbidden(transport)
      return { isBusy: false }
    }
    let acceptedSocket: GraphqlSocket | undefined
    handshakes.handleUpgrade(incoming, transport, head, (webSocket) => {
      acceptedSocket = handshake.open({
        webSocket,
        transport,
        limit: (maxBytes, close) => {
          unfinished.follow(transport, maxBytes, close)
        },
      })
    })
    return {
      get isBusy() {
        return acceptedSocket?.isBusy === true
      },
    }
  }
}

function sendForbidden(socket: Socket): void {
  destroyAtEnd(socket)
  socket.end(
    `HTTP/1.1 403 Forbidden\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${forbiddenBody.length}\r\nConnection: close\r\n\r\n${forbiddenBody}`,
  )
}
