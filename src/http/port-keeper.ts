/** Somebody who holds the listening socket of a process while the next one starts: `filigree dev`. */
import type { Server } from 'node:http'

export interface PortKeeper {
  /** @returns the socket that listens there already, for `server.listen`; it is the server's from then on */
  take(port: number, host: string): object | undefined
  /** Told of a server that has opened a socket of its own. */
  opened(port: number, host: string, server: Server): void
}
