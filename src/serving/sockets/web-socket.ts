/**
 * The library that speaks WebSocket (RFC 6455), `ws`, an optional peer of applications, and limits for the messages that
 * it stores while they are incomplete. Source: docs/dependencies.md.
 */

import type { IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import type { Duplex } from 'node:stream'

/** The used part of the interface of a `ws` socket. */
export interface WebSocket {
  /** Bytes that were sent but not yet accepted by the operating system. */
  readonly bufferedAmount: number
  readonly isPaused: boolean
  /** The negotiated subprotocol; empty if there is none. */
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

/** Close codes of RFC 6455 §7.4.1. */
export const closeCodes = { policy: 1008, tooBig: 1009, tryAgain: 1013 } as const

export type CloseSocket = (code: number, reason: string) => void

/** Accepts WebSocket handshakes. */
export interface Handshakes {
  handleUpgrade(
    incoming: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    opened: (socket: WebSocket) => void,
  ): void
}

interface WebSocketLibrary {
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

/**
 * Maximum fragments of a message and chunks of a frame. Each costs additional memory. Versions of `ws` before 8.21.1 do
 * not limit them.
 */
const [maxFragments, maxBufferedChunks] = [1024, 4096]

/**
 * @param maxBytes maximum bytes of a message; a longer one closes its socket
 * @param protocol the subprotocol in use
 * @returns undefined if `ws` is not installed
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

function loadLibrary(): WebSocketLibrary | undefined {
  const require = createRequire(import.meta.url)
  try {
    require.resolve('ws')
  } catch {
    return undefined
  }
  return require('ws') as WebSocketLibrary
}
