/**
 * A TCP proxy for PostgreSQL that changes the server's errors as Citus's coordinator does with the errors of its workers: names
 * get the number of the shard, only some fields are passed on, and a failed `copy` loses its code.
 */
import { createHash } from 'node:crypto'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface CitusProxy {
  /** @returns the server's URL, with the proxy as its host */
  through(url: string): string
  /** The statements that clients have sent without values. */
  readonly queries: string[]
  close(): Promise<void>
}

type Fields = Map<string, string>

/** Reads messages from chunks. Source: PostgreSQL, Frontend/Backend Protocol, Message Formats. */
class MessageReader {
  #rest = Buffer.alloc(0)

  read(chunk: Buffer): Buffer[] {
    this.#rest = Buffer.concat([this.#rest, chunk])
    const messages: Buffer[] = []
    while (this.#rest.length >= 5) {
      const length = this.#rest.readInt32BE(1) + 1
      if (this.#rest.length < length) break
      messages.push(this.#rest.subarray(0, length))
      this.#rest = this.#rest.subarray(length)
    }
    return messages
  }
}

function readFields(message: Buffer): Fields {
  const texts = message.toString('utf8', 5).split('\0')
  return new Map(texts.filter((text) => text !== '').map((text) => [text.charAt(0), text.slice(1)]))
}

function writeFields(fields: Fields): Buffer {
  const text = [...fields].map(([type, value]) => `${type}${value}\0`).join('')
  const body = Buffer.from(`${text}\0`)
  const head = Buffer.from('E\0\0\0\0', 'latin1')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** Source: Citus, AppendShardIdToName. */
export function toShardName(name: string): string {
  const suffix = '_102008'
  if (name.length < 64 - suffix.length) return `${name}${suffix}`
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${name.slice(0, 64 - suffix.length - 10)}_${hash}${suffix}`
}

/** Names of columns and checks stay the same. */
function isRenamed(fields: Fields, name: string): boolean {
  return name !== fields.get('c') && !(fields.get('C') === '23514' && name === fields.get('n'))
}

function changeError(message: Buffer, isCopying: boolean): Buffer {
  const fields = readFields(message)
  if (fields.get('M')?.startsWith('could not commit transaction') === true)
    return writeFields(fields.set('R', 'ErrorIfPostCommitFailedShardPlacements'))
  if (fields.get('M')?.startsWith('SSL SYSCALL error') === true)
    return writeFields(fields.set('R', 'ReportResultError'))
  if (fields.get('C')?.startsWith('23') !== true) return message
  const rename = (type: string): string =>
    (fields.get(type) ?? '').replace(/"([^"]+)"/g, (quoted, name: string) =>
      isRenamed(fields, name) ? `"${toShardName(name)}"` : quoted,
    )
  const changed: Fields = new Map([
    ['S', 'ERROR'],
    ['V', 'ERROR'],
    ['C', isCopying ? 'XX000' : (fields.get('C') ?? '')],
    ['M', rename('M')],
  ])
  if (fields.has('D')) changed.set('D', rename('D'))
  return writeFields(changed.set('R', isCopying ? 'ReportCopyError' : 'ReportResultError'))
}

export async function startCitusProxy(url: string): Promise<CitusProxy> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const queries: string[] = []
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    const reader = new MessageReader()
    let isCopying = false
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    client.on('data', (chunk) => {
      const text = chunk.toString('latin1')
      for (const [, query = ''] of text.matchAll(/Q[^]{4}([^\0]+)\0/g)) queries.push(query)
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      for (const message of reader.read(chunk)) {
        const type = message.toString('latin1', 0, 1)
        // CopyInResponse, ReadyForQuery.
        if (type === 'G') isCopying = true
        if (type === 'Z') isCopying = false
        client.write(type === 'E' ? changeError(message, isCopying) : message)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    through: (address) => {
      const proxied = new URL(address)
      proxied.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
      return proxied.href
    },
    queries,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
