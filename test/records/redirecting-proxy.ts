/** A TCP proxy that leads new connections to another server, as haproxy does after a failover. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface RedirectingProxy {
  /** @returns the server's URL, with the proxy as its host */
  through(url: string): string
  /** New connections go to this server. Undefined: they are closed, and so are all open ones. */
  leadTo(url: string | undefined): void
  /** The next connection stays open without a response, as haproxy's to a server that is down. @returns it, when it came */
  holdNext(): Promise<Socket>
  /** The number of connections so far. */
  readonly connections: number
  close(): Promise<void>
}

export async function startRedirectingProxy(url: string): Promise<RedirectingProxy> {
  const open = new Set<Socket>()
  let target: string | undefined = url
  let connections = 0
  let hold: ((client: Socket) => void) | undefined
  const server = createServer((client) => {
    connections++
    client.on('error', () => undefined)
    if (target === undefined) {
      client.destroy()
      return
    }
    if (hold !== undefined) {
      open.add(client.on('close', () => open.delete(client)))
      hold(client)
      hold = undefined
      return
    }
    const { hostname, port } = new URL(target)
    const upstream = connect(Number(port), hostname)
    open.add(client)
    upstream.on('error', () => undefined)
    client.on('close', () => {
      open.delete(client)
      upstream.destroy()
    })
    upstream.on('close', () => client.destroy())
    client.pipe(upstream).pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const closeOpen = (): void => {
    for (const client of open) client.destroy()
  }
  return {
    through: (address) => {
      const proxied = new URL(address)
      proxied.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
      return proxied.href
    },
    leadTo: (to) => {
      target = to
      if (to === undefined) closeOpen()
    },
    holdNext: () =>
      new Promise((resolve) => {
        hold = resolve
      }),
    get connections() {
      return connections
    },
    close: async () => {
      closeOpen()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
