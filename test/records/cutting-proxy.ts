/** A way to a PostgreSQL server that cuts connections around a commit, as a failover does. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** Before the server has the commit, right after it was sent, or once the server has responded, which nobody hears. */
export const cuts = ['before', 'in', 'after'] as const
export type Cut = (typeof cuts)[number]

export interface CuttingProxy {
  /** The server's address through it. */
  through(url: string): string
  /** Called at each commit: where to cut the connection, or undefined to let it pass. */
  decide: (() => Cut | undefined) | undefined
  close(): Promise<void>
}

export async function startCuttingProxy(url: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const behind = connect(Number(port), hostname)
    let isLast = false
    const cut = (): void => {
      client.destroy()
      behind.destroy()
    }
    for (const socket of [client, behind]) {
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
      else if (where === 'in') behind.write(chunk, cut)
      else {
        isLast = where === 'after'
        behind.write(chunk)
      }
    })
    behind.on('data', (chunk) => {
      if (isLast) cut()
      else client.write(chunk)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const proxy: CuttingProxy = {
    through: (address) => {
      const way = new URL(address)
      way.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
      return way.href
    },
    decide: undefined,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return proxy
}
