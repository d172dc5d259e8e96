/** The library that speaks WebSocket (RFC 6455): `ws`, an optional peer of applications. Source: docs/dependencies.md. */
import type { IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import type { Duplex } from 'node:stream'

/** What is used of a socket of `ws`. */
export interface WebSocket {
  /** Bytes that were sent and that the system has not taken yet. */
  readonly bufferedAmount: number
  readonly isPaused: boolean
  /** The subprotocol that was agreed on; empty where none was. */
  readonly protocol: string
  send(text: string, onSent?: (error?: Error) => void): void
  ping(): void
  pong(data: Buffer): void
  pause(): void
  resume(): void
  /** @param reason at most 123 bytes */
  close(code: number, reason: string): void
  terminate(): void
  on(event: 'message', listener: (data: Buffer, isBinary: boolean) => void): unknown
  on(event: 'ping', listener: (data: Buffer) => void): unknown
  on(event: 'pong' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
}

/** Answers handshakes. */
export interface Handshakes {
  handleUpgrade(
    incoming: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    opened: (socket: WebSocket) => void,
  ): void
}

interface Library {
  readonly WebSocketServer: new (options: {
    readonly noServer: true
    readonly clientTracking: false
    readonly perMessageDeflate: false
    readonly autoPong: false
    readonly maxPayload: number
    readonly maxFragments: number
    readonly maxBufferedChunks: number
    readonly handleProtocols: (offered: ReadonlySet<string>) => string | false
  }) => Handshakes
}

/** Fragments of a message, and chunks of a frame: each costs memory of its own. Versions of `ws` before 8.21.1 do not bound them. */
const [maxFragments, maxBufferedChunks] = [1024, 4096]

/**
 * @param maxBytes of a message; a longer one closes its socket
 * @param protocol the subprotocol that is spoken
 * @returns undefined where `ws` is not installed
 */
export function createHandshakes(maxBytes: number, protocol: string): Handshakes | undefined {
  const library = loadLibrary()
  return (
    library &&
    new library.WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      autoPong: false,
      maxPayload: maxBytes,
      maxFragments,
      maxBufferedChunks,
      handleProtocols: (offered) => (offered.has(protocol) ? protocol : false),
    })
  )
}

export function hasWebSockets(): boolean {
  return loadLibrary() !== undefined
}

function loadLibrary(): Library | undefined {
  const require = createRequire(import.meta.url)
  try {
    require.resolve('ws')
  } catch {
    return undefined
  }
  return require('ws') as Library
}
