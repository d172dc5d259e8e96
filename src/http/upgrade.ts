/**
 * Requests with an `Upgrade` header. A handler may take over the connection. Any other such request is parsed again
 * without the header, because Node passes on all of them if there is a listener, and clients that prefer HTTP/2
 * (`Upgrade: h2c`) send it with ordinary requests. Source: RFC 9110 §7.8.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/** A connection that speaks another protocol. */
export interface Upgraded {
  /** Whether it is busy, so that it is not aborted while the server closes. */
  readonly isBusy: boolean
}

/** @returns undefined if the request is an ordinary one */
export type TakeUpgrade = (
  incoming: IncomingMessage,
  socket: Socket,
  head: Buffer,
) => Upgraded | undefined

const wishes: ReadonlySet<string> = new Set(['upgrade', 'http2-settings'])

/** Returns the connection to the server, with the request without the `Upgrade` header. */
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

/** Node no longer handles errors and the end of a connection that it has passed on. */
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
