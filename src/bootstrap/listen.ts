/** Opens the port: with a server in this process, or with workers. */
import cluster from 'node:cluster'
import { DeclarationError, type Problem } from '../errors/declaration-error.js'
import type { Log } from '../core/log.js'
import type { Bounds } from '../http/limits.js'
import { type PortKeeper, createNodeServer, type Times } from '../http/server.js'
import type { UpgradeHandler } from '../http/upgrade.js'
import type { Dispatcher } from '../serving/dispatcher.js'
import type { TakeRequest } from './development-host.js'
import type { Settings } from './options.js'
import { startsWorkers, startWorkers } from './workers.js'

export interface Listener {
  readonly url: string
  close(): Promise<void>
}

export interface ListenOptions {
  readonly settings: Settings
  readonly dispatcher: Dispatcher
  /** Headers of answers to malformed requests, names and values in turn. */
  readonly errorHeaders: readonly string[]
  readonly log: Log
  /** Takes connections that ask for another protocol. */
  readonly upgrade?: UpgradeHandler | undefined
  /** Answers requests that are not for the application. */
  readonly take?: TakeRequest | undefined
  /** Holds the port while the next process starts. */
  readonly keeper?: PortKeeper | undefined
}

/**
 * @returns `undefined` for an application that opens no port
 * @throws {DeclarationError} if the port is taken or not allowed, or the host is not an address of this machine
 */
export async function listen(options: ListenOptions): Promise<Listener | undefined> {
  const { settings, dispatcher, errorHeaders: faultHeaders, log, upgrade, take, keeper } = options
  if (!settings.listen) return undefined
  if (startsWorkers(settings.workers)) return startWorkers(settings.workers, log)
  const server = createNodeServer({
    times: keeper === undefined ? settings.times : withShortLinger(settings.times),
    bounds: countable(settings),
    errorHeaders: faultHeaders,
    log,
    upgrade,
    // If other processes accept connections on the port, a closing process does not need to.
    takesNew: !cluster.isWorker && keeper === undefined,
    serve:
      take === undefined
        ? (incoming, outgoing) => {
            dispatcher.serve(incoming, outgoing)
          }
        : (incoming, outgoing) => {
            if (!take(incoming, outgoing)) dispatcher.serve(incoming, outgoing)
          },
    refuse: (incoming, outgoing, error) => {
      dispatcher.refuse(incoming, outgoing, error)
    },
  })
  try {
    const url = await server.listen(settings.port, settings.host, keeper)
    return { url, close: () => server.close() }
  } catch (cause) {
    const problem = toProblem((cause as NodeJS.ErrnoException).code, settings)
    throw problem === undefined ? cause : new DeclarationError([problem], { cause })
  }
}

/** Milliseconds for which existing connections are served while the next process waits for this one. */
const shortLinger = 100

function withShortLinger(times: Times): Times {
  return { ...times, linger: Math.min(times.linger, shortLinger) }
}

/** Behind a proxy all connections come from its address, so connections per address are not limited. */
function countable({ bounds, trustProxy }: Settings): Bounds {
  const isDirect = trustProxy === false || trustProxy === 0
  return isDirect ? bounds : { ...bounds, connectionsByAddress: Infinity }
}

function toProblem(code: string | undefined, { port, host }: Settings): Problem | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return {
        code: 'PORT_TAKEN',
        message: `bootstrap: port ${port} is used by another program.`,
        remedy: `Stop it, or choose another port: PORT=${port < 65535 ? port + 1 : port - 1}, or the option port.`,
      }
    case 'EACCES':
      return {
        code: 'PORT_REFUSED',
        message: `bootstrap: this user may not listen at port ${port}.`,
        remedy: 'Choose one from 1024 on: PORT=8080, or the option port.',
      }
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return {
        code: 'HOST_UNKNOWN',
        message: `bootstrap: host ${host} is not an address of this machine.`,
        remedy: 'Give 127.0.0.1 for this machine alone, or leave out HOST and the option host.',
      }
    default:
      return undefined
  }
}
