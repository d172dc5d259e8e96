/**
 * Requests with an `Upgrade` header. A handler may take over their connection. Otherwise the request is parsed again
 * without the header. This is needed because Node hands over all such requests if there is a listener, and clients that
 * prefer HTTP/2 (`Upgrade: h2c`) send the header with ordinary requests. Source: RFC 9110 §7.8.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/** A connection that speaks another protocol. */
export interface UpgradedConnection {
  /** Whether it is busy, so that it is not aborted while the server closes. */
  readonly isBusy: boolean
}

/** @returns undefined if the request is an ordinary one */
export type UpgradeHandler = (
  incoming: IncomingMessage,
  socket: Socket,
  head: Buffer,
) => UpgradedConnection | undefined

const upgradeHeaders: ReadonlySet<string> = new Set(['upgrade', 'http2-settings'])

/** Returns the connection to the server, with the request without the `Upgrade` header. */
export function parseWithoutUpgrade(
  server: Server,
  incoming: IncomingMessage,
  socket: Socket,
  head: Buffer,
): void {
  socket.unshift(Buffer.concat([toHeadBytes(incoming, withoutUpgrade), head]))
  server.emit('connection', socket)
}

/**
 * Writes the bytes of a head that Node has parsed.
 *
 * @param change returns the new value of a header, or undefined to leave it out
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

function withoutUpgrade(key: string, value: string): string | undefined {
  if (value === '') return value
  if (upgradeHeaders.has(key)) return undefined
  const rest = key === 'connection' ? withoutUpgradeNames(value) : value
  return rest === '' ? undefined : rest
}

/** Destroys a connection on an error and at its end. Node does not do so for a connection that it has handed over. */
export function destroyAtEnd(socket: Socket): void {
  const destroy = (): void => {
    socket.destroy()
  }
  socket.once('error', destroy)
  socket.once('finish', destroy)
}

function withoutUpgradeNames(value: string): string {
  const names = value.split(',').map((name) => name.trim())
  return names.filter((name) => !upgradeHeaders.has(name.toLowerCase())).join(', ')
}
