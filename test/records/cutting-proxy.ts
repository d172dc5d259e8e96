/** A TCP proxy for PostgreSQL that cuts connections around a commit, as a failover does. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** When to cut: before the server gets the commit, right after it was sent, or after the server's response, which is dropped. */
export const cuts = ['before', 'in', 'after'] as const
export type Cut = (typeof cuts)[number]

export interface CuttingProxy {
  /** @returns the server's URL, with the proxy as its host */
  through(url: string): string
  /** Called at each commit. It returns when to cut the connection, or undefined to let the commit pass. */
  decide: (() => Cut | undefined) | undefined
  close(): Promise<void>
}

export async function startCuttingProxy(url: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let isLast = false
    const cut = (): void => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        cut()
      })
    }
    client.on('data', (chunk) => {
      const where = /commit\0/i.test(chunk.toString('latin1')) ? proxy.decide?.() : undefined
      if (where === 'before') cut()
      else if (where === 'in') upstream.write(chunk, cut)
      else {
        isLast = where === 'after'
        upstream.write(chunk)
      }
    })
    upstream.on('data', (chunk) => {
      if (isLast) cut()
      else client.write(chunk)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const proxy: CuttingProxy = {
    through: (address) => {
      const proxied = new URL(address)
      proxied.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
      return proxied.href
    },
    decide: undefined,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return proxy
}
