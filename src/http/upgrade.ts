/**
 * Requests that ask for another protocol. Who takes one gets its connection; any other is read again as the request that it
 * would be without the wish, since Node hands over all of them once somebody listens: clients that would rather speak
 * HTTP/2 (`Upgrade: h2c`) send it along with ordinary requests. Source: RFC 9110 §7.8.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/** A connection that speaks another protocol. */
export interface Upgraded {
  /** It is at work for its client, and is not cut while the server closes. */
  readonly isBusy: boolean
}

/** @returns undefined where the request is to be answered as any other */
export type TakeUpgrade = (
  incoming: IncomingMessage,
  socket: Socket,
  head: Buffer,
) => Upgraded | undefined

const wishes: ReadonlySet<string> = new Set(['upgrade', 'http2-settings'])

/** Gives the connection back to the server, its request without the wish. */
export function readAgain(
  server: Server,
  incoming: IncomingMessage,
  socket: Socket,
  head: Buffer,
): void {
  socket.unshift(Buffer.concat([toHeadBytes(incoming, withoutWish), head]))
  server.emit('connection', socket)
}

/**
 * The bytes of a head that Node has parsed.
 *
 * @param change called with each header; without a result the header is left out
 */
export function toHeadBytes(
  { method = 'GET', url = '/', httpVersion, rawHeaders }: IncomingMessage,
  change: (key: string, value: string) => string | undefined = (_, value) => value,
): Buffer {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]]
    const changed = change(name.toLowerCase(), value)
    if (changed !== undefined) text += `${name}: ${changed}\r\n`
  }
  return Buffer.from(`${text}\r\n`, 'latin1')
}

function withoutWish(key: string, value: string): string | undefined {
  if (value === '') return value
  const rest = key === 'connection' ? withoutWishes(value) : wishes.has(key) ? '' : value
  return rest === '' ? undefined : rest
}

/** Node listens no more to a connection that it has handed over: neither to its errors nor for its end. */
export function letGo(socket: Socket): void {
  const destroy = (): void => {
    socket.destroy()
  }
  socket.once('error', destroy)
  socket.once('finish', destroy)
}

function withoutWishes(value: string): string {
  const names = value.split(',').map((name) => name.trim())
  return names.filter((name) => !wishes.has(name.toLowerCase())).join(', ')
}
