/** A proxy before a worker that cuts the connection of the coordinator around a message of a commit. It reads no data. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** Which message of the coordinator, from 1, and whether it is lost or the response to it. */
export interface CommitCut {
  readonly message: number
  readonly loses: 'request' | 'response'
}

interface Link {
  readonly client: Socket
  readonly upstream: Socket
  cut: CommitCut | undefined
  /** Messages of the coordinator since `cut` was set. */
  messages: number
}

export class CommitProxy {
  /** Connections that were cut. */
  cuts = 0
  readonly #server
  readonly #links = new Set<Link>()
  #last: Link | undefined

  constructor(host: string, port: number) {
    this.#server = createServer((client) => {
      const upstream = connect(port, host)
      const link: Link = { client, upstream, cut: undefined, messages: 0 }
      this.#links.add(link)
      const end = (): void => {
        this.#links.delete(link)
        client.destroy()
        upstream.destroy()
      }
      for (const socket of [client, upstream]) {
        socket.on('error', () => undefined)
        socket.on('close', end)
      }
      const lose = (): void => {
        this.cuts++
        end()
      }
      client.on('data', (chunk) => {
        const { cut } = link
        if (cut !== undefined && ++link.messages === cut.message && cut.loses === 'request') lose()
        else upstream.write(chunk)
      })
      upstream.on('data', (chunk) => {
        this.#last = link
        const { cut, messages } = link
        if (cut !== undefined && messages >= cut.message) lose()
        else client.write(chunk)
      })
    })
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return (this.#server.address() as AddressInfo).port
  }

  /** Cuts the connection that has received something last. */
  cutLast(cut: CommitCut): void {
    if (this.#last === undefined) return
    this.#last.messages = 0
    this.#last.cut = cut
  }

  async close(): Promise<void> {
    for (const { client, upstream } of this.#links) {
      client.destroy()
      upstream.destroy()
    }
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
