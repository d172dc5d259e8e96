/**
 * The interface between a server and the pipeline. A listener turns what its server receives into an `Incoming` and an
 * `Outgoing`, and knows nothing of routes. The pipeline knows nothing of connections. `server.ts` listens by Node's server,
 * `web/bun-server.ts` by Bun's, `web/deno-server.ts` by Deno's.
 */
import type { Server } from 'node:http'
import type { Log } from '../core/log.js'
import type { HttpError } from '../errors/http-error.js'
import { declareOptions, type Option, type ValuesOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import type { HeaderList } from './header-list.js'
import type { Bounds } from './limits.js'
import type { Incoming, Outgoing } from './node-messages.js'

/** Hands the listening socket of a process over to the next one: `filigree dev`. */
export interface PortHandover {
  /** @returns the socket that is listening already, for `server.listen`. The server owns it from then on */
  take(port: number, host: string): object | undefined
  /** Called after a server has opened a new socket. */
  opened(port: number, host: string, server: Server): void
}

const time = (defaultValue: number): Option<number, number> =>
  option
    .integer(1, 2 ** 31 - 1)
    .shown()
    .default(defaultValue)
const timeOrOff = (defaultValue: number): Option<number, number> =>
  option
    .of<number>(
      (value) => value === Infinity || (Number.isInteger(value) && isTimerTime(Number(value))),
      `Give an integer from 1 to ${2 ** 31 - 1}, or Infinity for no limit.`,
    )
    .shown()
    .default(defaultValue)

/** The option `times` of `bootstrap`. */
export const timesOptions = declareOptions({
  /** Until the head of a request is complete; then 408. Default: 10,000. */
  headers: time(10_000),
  /** Until the body is complete; then 408. Default: 30,000. */
  request: time(30_000),
  /** The same for multipart bodies. Default: 120,000. */
  upload: time(120_000),
  /** Idle connections are closed after this time. Default: 5,000. */
  keepAlive: timeOrOff(5_000),
  /** Until a handler's promise settles; then 503. Default: 30,000. */
  handler: time(30_000),
  /** While the server closes, it still serves connected clients for this time. Default: 500. */
  linger: time(500),
  /** A client that reads nothing of its response for this time is disconnected. Default: 30,000. */
  stall: timeOrOff(30_000),
  /** If the event loop lags by more than this time, requests get 503. Default: 1,000. */
  delay: timeOrOff(1_000),
  /** Until `close()` aborts requests that are still in flight. Default: 10,000. */
  drain: time(10_000),
})

/** Timeouts, all in milliseconds. */
export interface Times extends ValuesOf<typeof timesOptions> {}

function isTimerTime(milliseconds: number): boolean {
  return milliseconds >= 1 && milliseconds < 2 ** 31
}

/** What a listener needs of the application. */
export interface ListenerOptions {
  readonly times: Times
  readonly bounds: Pick<Bounds, 'connections' | 'connectionsByAddress' | 'requests' | 'unread'>
  readonly log: Log
  /** Processes every request that could be parsed. Must not throw. */
  readonly serve: (incoming: Incoming, outgoing: Outgoing) => void
  /** Responds with an error before routing. Must not throw. */
  readonly refuse: (incoming: Incoming, outgoing: Outgoing, error: HttpError) => void
  /**
   * True if new connections are still served while the server closes. Set to false if other processes accept them.
   * Default: true.
   */
  readonly takesNew?: boolean
  /** Headers of responses to malformed requests. */
  readonly errorHeaders: HeaderList
}

/** Accepts connections, and hands their requests to the pipeline. */
export interface Listener {
  /** @returns the address in use, e.g. `http://127.0.0.1:3000`; rejects if the port is in use */
  listen(port: number, host: string, portHandover?: PortHandover): Promise<string>
  /**
   * Serves connected clients and new connections with `Connection: close` for `times.linger`, then stops accepting,
   * lets requests in flight end, and aborts them after `times.drain`.
   */
  close(): Promise<void>
}
