/** A TCP proxy that can stop forwarding, so that the server looks unresponsive. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface StallingProxy {
  /** @returns the server's URL, with the proxy as its host */
  through(url: string): string
  /** Stops forwarding. Connections stay open, and new ones are accepted. */
  stall(): void
  /** Stalls after the server has sent this many more chunks. */
  stallAfter(chunks: number): void
  /** Forwards the delayed data and everything after it. */
  resume(): void
  close(): Promise<void>
}

export async function startStallingProxy(url: string): Promise<StallingProxy> {
  const { hostname, port } = new URL(url)
  const pairs = new Map<Socket, Socket>()
  let stalled = false
  let remainingChunks = Infinity
  const forEachSocket = (act: (socket: Socket) => void): void => {
    for (const pair of pairs) pair.forEach(act)
  }
  const stall = (): void => {
    stalled = true
    forEachSocket((socket) => socket.pause())
  }
  const server = createServer({ pauseOnConnect: true }, (client) => {
    const upstream = connect(Number(port), hostname)
    pairs.set(client, upstream)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('data', (chunk) => {
        other.write(chunk)
        if (one === upstream && --remainingChunks === 0) stall()
      })
      one.on('error', () => undefined)
      one.on('close', () => {
        pairs.delete(client)
        other.destroy()
      })
    }
    if (stalled) upstream.pause()
    else client.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    through: (address) => {
      const proxied = new URL(address)
      proxied.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
      return proxied.href
    },
    stall,
    stallAfter: (chunks) => {
      remainingChunks = chunks
    },
    resume: () => {
      stalled = false
      remainingChunks = Infinity
      forEachSocket((socket) => socket.resume())
    },
    close: async () => {
      forEachSocket((socket) => socket.destroy())
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
