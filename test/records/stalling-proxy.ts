/** A way to a server that can stop passing anything on, as a server that is there but does not answer. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface StallingProxy {
  /** The server's address through it. */
  through(url: string): string
  /** From now on nothing passes; connections stay, and new ones are accepted. */
  stall(): void
  /** The same once the server has sent so many pieces more. */
  stallAfter(pieces: number): void
  /** What was held back passes, and all that comes. */
  resume(): void
  close(): Promise<void>
}

export async function startStallingProxy(url: string): Promise<StallingProxy> {
  const { hostname, port } = new URL(url)
  const pairs = new Map<Socket, Socket>()
  let stalled = false
  let left = Infinity
  const each = (act: (socket: Socket) => void): void => {
    for (const pair of pairs) pair.forEach(act)
  }
  const stall = (): void => {
    stalled = true
    each((socket) => socket.pause())
  }
  const server = createServer({ pauseOnConnect: true }, (client) => {
    const behind = connect(Number(port), hostname)
    pairs.set(client, behind)
    for (const [one, other] of [
      [client, behind],
      [behind, client],
    ] as const) {
      one.on('data', (chunk) => {
        other.write(chunk)
        if (one === behind && --left === 0) stall()
      })
      one.on('error', () => undefined)
      one.on('close', () => {
        pairs.delete(client)
        other.destroy()
      })
    }
    if (stalled) behind.pause()
    else client.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    through: (address) => {
      const way = new URL(address)
      way.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
      return way.href
    },
    stall,
    stallAfter: (pieces) => {
      left = pieces
    },
    resume: () => {
      stalled = false
      left = Infinity
      each((socket) => socket.resume())
    },
    close: async () => {
      each((socket) => socket.destroy())
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
