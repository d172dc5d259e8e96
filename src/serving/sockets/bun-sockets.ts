/**
 * WebSockets of Bun's server. It completes messages and replies to pings itself, so the limits of frames and of incomplete
 * messages are not those of `node-upgrades.ts`: docs/compatibility.md. Source: Bun's documentation, WebSockets.
 */
import { EventEmitter } from 'node:events'
import type { BunSocketReceiver, BunSockets, BunWebSocket } from '../../http/web/bun-server.js'
import { subprotocol } from './graphql-messages.js'
import type { SocketConnection } from './graphql-socket.js'
import { forbiddenBody, type Handshake, type SocketEndpoints } from './socket-endpoints.js'
import { ReceivingRates } from './unfinished-messages.js'
import { closeCodes, type CloseSocket, type WebSocket } from './web-socket.js'

export function createBunSockets(endpoints: SocketEndpoints): BunSockets {
  return {
    maxMessageBytes: endpoints.maxMessageBytes,
    isAt: (url) => endpoints.isAt(url),
    take: (incoming, upgrade) => {
      const handshake = endpoints.find(incoming)
      if (handshake === undefined) return undefined
      if (!handshake.isAllowed) return toResponse(403, forbiddenBody)
      const offered = incoming.headers['sec-websocket-protocol']?.split(',') ?? []
      const protocol = offered.some((one) => one.trim() === subprotocol) ? subprotocol : ''
      const data = new BunConnection(handshake, protocol)
      const headers: Record<string, string> = {}
      if (protocol !== '') headers['Sec-WebSocket-Protocol'] = protocol
      return upgrade({ data, headers }) ? 'upgraded' : toResponse(400, badHandshakeBody)
    },
  }
}

const badHandshakeBody =
  '{"error":"The handshake of the WebSocket is invalid.","code":"BAD_REQUEST"}'

function toResponse(status: number, body: string): Response {
  const headers = { 'Content-Type': 'application/json; charset=utf-8', Connection: 'close' }
  return new Response(body, { status, headers })
}

/** Text that was sent, with the position of its last byte among all bytes of the connection. */
interface SentMessage {
  readonly end: number
  readonly onSent: () => void
}

interface CollectedMessage {
  readonly text: string
  readonly onSent: (() => void) | undefined
}

/** A connection with the interface of a `ws` socket, which also collects the messages of a turn. */
class BunConnection extends EventEmitter implements WebSocket, SocketConnection, BunSocketReceiver {
  writableCorked = 0
  readonly protocol: string
  readonly #handshake: Handshake
  readonly #rates = new ReceivingRates()
  #socket: BunWebSocket | undefined
  #maxBytes = (): number => Infinity
  #closeImmediately: CloseSocket = () => undefined
  #collected: CollectedMessage[] = []
  #collectedBytes = 0
  /** All bytes that Bun has received to send. */
  #handedBytes = 0
  /** The oldest first. */
  #waiting: SentMessage[] = []

  /** @param protocol the negotiated subprotocol; empty if there is none */
  constructor(handshake: Handshake, protocol: string) {
    super()
    this.#handshake = handshake
    this.protocol = protocol
  }

  get bufferedAmount(): number {
    return (this.#socket?.getBufferedAmount() ?? 0) + this.#collectedBytes
  }

  get isPaused(): boolean {
    return this.#socket?.isPaused === true
  }

  opened(socket: BunWebSocket): void {
    this.#socket = socket
    this.#handshake.open({
      webSocket: this,
      transport: this,
      limit: (maxBytes, close) => {
        this.#maxBytes = maxBytes
        this.#closeImmediately = close
      },
    })
  }

  receive(event: 'message' | 'ping' | 'pong', data: Buffer, isBinary: boolean): void {
    const isControl = event !== 'message'
    if (!isControl && data.length > this.#maxBytes()) {
      this.#closeImmediately(closeCodes.tooBig, 'Message too large')
    } else if (!this.#rates.add(1, isControl ? 1 : 0)) {
      this.#closeImmediately(closeCodes.policy, 'Too many frames')
    } else this.emit(event, data, isBinary)
  }

  cork(): void {
    this.writableCorked++
  }

  uncork(): void {
    this.writableCorked--
    if (this.writableCorked === 0) this.#flush()
  }

  send(text: string, onSent?: () => void): void {
    this.#collected.push({ text, onSent })
    this.#collectedBytes += text.length
    if (this.writableCorked === 0) this.#flush()
  }

  /** Calls back for messages that the operating system has accepted. */
  drained(): void {
    const sentBytes = this.#handedBytes - (this.#socket?.getBufferedAmount() ?? 0)
    for (;;) {
      const [oldest] = this.#waiting
      if (oldest === undefined || oldest.end > sentBytes) return
      this.#waiting.shift()
      oldest.onSent()
    }
  }

  ping(): void {
    this.#socket?.ping()
  }

  /** Bun has replied already. */
  pong(): void {
    return undefined
  }

  pause(): void {
    this.#socket?.pause()
  }

  resume(): void {
    this.#socket?.resume()
  }

  close(code: number, reason: string): void {
    this.#flush()
    this.#socket?.close(code, reason)
  }

  terminate(): void {
    this.#socket?.terminate()
  }

  closed(): void {
    for (const { onSent } of this.#waiting.splice(0)) onSent()
    this.emit('close')
  }

  #flush(): void {
    if (this.#collected.length === 0) return
    const collected = this.#collected
    this.#collected = []
    this.#collectedBytes = 0
    this.#socket?.cork(() => {
      for (const message of collected) this.#handOver(message)
    })
    this.drained()
  }

  #handOver({ text, onSent }: CollectedMessage): void {
    this.#socket?.sendText(text)
    this.#handedBytes += frameBytes(Buffer.byteLength(text))
    if (onSent !== undefined) this.#waiting.push({ end: this.#handedBytes, onSent })
  }
}

/** The length of a message with the head of its frame. Source: RFC 6455 §5.2. */
function frameBytes(length: number): number {
  if (length < 126) return length + 2
  return length + (length < 2 ** 16 ? 4 : 10)
}
