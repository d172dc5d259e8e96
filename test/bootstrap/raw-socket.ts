/** A WebSocket client that writes its own frames, for every runtime. Source: RFC 6455. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { open } from './raw-client.js'

/** Opcodes of frames. */
export const opcode = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

interface Frame {
  readonly opcode: number
  readonly payload: Buffer
}

/** A masked frame. The mask is zero, so the payload stays readable. */
export function frame(code: number, payload: string | Buffer = '', isLast = true): Buffer {
  const bytes = Buffer.from(payload)
  return Buffer.concat([frameHead(code, bytes.length, isLast), bytes])
}

/** The head of a masked frame. */
export function frameHead(code: number, length: number, isLast = true): Buffer {
  const size = Buffer.alloc(8)
  size.writeBigUInt64BE(BigInt(length))
  const lengthBytes =
    length < 126 ? [length] : length < 65_536 ? [126, ...size.subarray(6)] : [127, ...size]
  lengthBytes[0] = 0x80 | (lengthBytes[0] ?? 0)
  return Buffer.from([(isLast ? 0x80 : 0) | code, ...lengthBytes, 0, 0, 0, 0])
}

export class RawSocket {
  /** The head of the response to the handshake. */
  readonly head: string
  readonly socket: Socket
  pongs = 0
  /** The close code; 0 for a connection that ended without one, undefined while it is open. */
  closeCode: number | undefined
  readonly #messages: unknown[] = []
  #rest: Buffer
  #wake: () => void = () => undefined

  constructor(socket: Socket, head: string, rest: Buffer) {
    this.socket = socket
    this.head = head
    this.#rest = rest
    socket.on('data', (chunk: Buffer) => {
      this.#rest = Buffer.concat([this.#rest, chunk])
      this.#readFrames()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.closeCode ??= 0
      this.#wake()
    })
    this.#readFrames()
  }

  send(message: object): void {
    this.socket.write(frame(opcode.text, JSON.stringify(message)))
  }

  /** @returns the next message; undefined once the connection is closed */
  async next(): Promise<unknown> {
    while (this.#messages.length === 0) {
      if (this.closeCode !== undefined) return undefined
      await this.#change()
    }
    return this.#messages.shift()
  }

  /** Waits until the server has closed the connection. @returns the code */
  async closed(): Promise<number> {
    while (this.closeCode === undefined) await this.#change()
    this.socket.destroy()
    return this.closeCode
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  #readFrames(): void {
    for (let found = readFrame(this.#rest); found !== undefined; found = readFrame(this.#rest)) {
      this.#rest = found.rest
      this.#take(found.frame)
    }
    this.#wake()
  }

  #take({ opcode: code, payload }: Frame): void {
    if (code === opcode.text) this.#messages.push(JSON.parse(payload.toString()))
    else if (code === opcode.ping) this.socket.write(frame(opcode.pong, payload))
    else if (code === opcode.pong) this.pongs++
    else if (code === opcode.close) {
      this.closeCode = payload.length >= 2 ? payload.readUInt16BE(0) : 1005
    }
  }
}

function readFrame(bytes: Buffer): { frame: Frame; rest: Buffer } | undefined {
  if (bytes.length < 2) return undefined
  const short = (bytes[1] ?? 0) & 0x7f
  const start = short === 127 ? 10 : short === 126 ? 4 : 2
  if (bytes.length < start) return undefined
  const length =
    short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short
  const end = start + length
  if (bytes.length < end) return undefined
  const read = { opcode: (bytes[0] ?? 0) & 0x0f, payload: bytes.subarray(start, end) }
  return { frame: read, rest: bytes.subarray(end) }
}

const handshakeHeaders = {
  Host: 'x',
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Protocol': 'graphql-transport-ws',
}

/** Sends a handshake to `/graphql`. @param headers replace those of the handshake */
export async function openSocket(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<RawSocket> {
  const socket = open(url)
  const lines = Object.entries({ ...handshakeHeaders, ...headers })
  const text = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`GET /graphql HTTP/1.1\r\n${text}\r\n`)
  let bytes = Buffer.alloc(0)
  while (!bytes.includes('\r\n\r\n')) {
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    bytes = Buffer.concat([bytes, chunk])
  }
  const end = bytes.indexOf('\r\n\r\n') + 4
  return new RawSocket(socket, bytes.toString('latin1', 0, end), bytes.subarray(end))
}

/** A socket whose token was accepted. */
export async function readySocket(
  url: string,
  payload: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<RawSocket> {
  const client = await openSocket(url, headers)
  client.send({ type: 'connection_init', payload })
  const reply = (await client.next()) as { readonly type: string } | undefined
  if (reply?.type !== 'connection_ack') throw new Error(`closed with ${String(client.closeCode)}`)
  return client
}
