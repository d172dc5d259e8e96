/** Opens the port: with a server in this process, or with workers, which share the port through node:cluster. */

import cluster from 'node:cluster'
import type { Worker } from 'node:cluster'
import { once } from 'node:events'
import type { Log } from '../core/log.js'
import type { OtherProcesses } from '../engines/contract/engine.js'
import { DeclarationError } from '../errors/declaration-error.js'
import type { HeaderList } from '../http/header-list.js'
import { defaultBounds, type Bounds } from '../http/limits.js'
import {
  timesOptions,
  type Listener,
  type ListenerOptions,
  type PortHandover,
  type Times,
} from '../http/listener.js'
import { createNodeServer, type NodeServerOptions } from '../http/server.js'
import { createBunServer, findBun } from '../http/web/bun-server.js'
import { createDenoServer, findDeno } from '../http/web/deno-server.js'
import type { Dispatcher } from '../serving/dispatcher.js'
import { createBunSockets } from '../serving/sockets/bun-sockets.js'
import { createNodeUpgrades } from '../serving/sockets/node-upgrades.js'
import type { SocketEndpoints } from '../serving/sockets/socket-endpoints.js'
import type { TakeRequest } from './cli-hooks.js'
import type { Settings } from './options.js'
import { toPortProblem } from './port-problems.js'

export interface PortListener {
  readonly url: string
  close(): Promise<void>
}

interface ListenOptions {
  readonly settings: Settings
  readonly dispatcher: Dispatcher
  /** Headers of responses to malformed requests. */
  readonly errorHeaders: HeaderList
  readonly log: Log
  /** Endpoints that accept WebSockets. */
  readonly sockets: SocketEndpoints | undefined
  /** Handles requests that are not for the application. */
  readonly take?: TakeRequest | undefined
  /** Holds the port while the next process starts. */
  readonly portHandover?: PortHandover | undefined
}

/**
 * @returns `undefined` for an application that opens no port
 * @throws {DeclarationError} if the port is taken or not allowed, or the host is not an address of this machine
 */
export async function listen(options: ListenOptions): Promise<PortListener | undefined> {
  const { settings, log, portHandover } = options
  if (!settings.listen) return undefined
  if (startsWorkers(settings.workers)) return startWorkers(settings.workers, log)
  const server = createListener(options)
  try {
    const url = await server.listen(settings.port, settings.host, portHandover)
    return { url, close: () => server.close() }
  } catch (cause) {
    const problem = toPortProblem((cause as NodeJS.ErrnoException).code, settings)
    throw problem === undefined ? cause : new DeclarationError([problem], { cause })
  }
}

/** Chooses the server: that of Bun or Deno there, unless the application needs what only Node's has. */
function createListener(options: ListenOptions): Listener {
  const { settings, dispatcher, errorHeaders, log, sockets, take, portHandover } = options
  const common: ListenerOptions = {
    times: portHandover === undefined ? settings.times : withShortLinger(settings.times),
    bounds: countable(settings),
    errorHeaders,
    log,
    // If other processes accept connections on the port, a closing process does not need to.
    takesNew: !cluster.isWorker && portHandover === undefined,
    serve: (incoming, outgoing) => {
      dispatcher.serve(incoming, outgoing)
    },
    refuse: (incoming, outgoing, error) => {
      dispatcher.refuse(incoming, outgoing, error)
    },
  }
  const bun = needsNodeServer(options) ? undefined : findBun()
  if (bun !== undefined)
    return createBunServer(bun, { ...common, sockets: sockets && createBunSockets(sockets) })
  const upgrade = sockets && createNodeUpgrades(sockets)
  const deno = upgrade !== undefined || needsDenoNodeServer(options) ? undefined : findDeno()
  if (deno !== undefined) return createDenoServer(deno, common)
  const serve: NodeServerOptions['serve'] =
    take === undefined
      ? common.serve
      : (incoming, outgoing) => {
          if (!take(incoming, outgoing)) dispatcher.serve(incoming, outgoing)
        }
  return createNodeServer({ ...common, upgrade, serve })
}

/** Limits of connections, which Bun's server does not show. */
const connectionLimits = ['connectionsByAddress', 'requests', 'unread'] as const

/** Whether the application needs what other servers lack: connections of their own, and shared ports. */
function needsNodeServer({ settings, take, portHandover }: ListenOptions): boolean {
  return (
    cluster.isWorker ||
    take !== undefined ||
    portHandover !== undefined ||
    connectionLimits.some((name) => settings.bounds[name] !== defaultBounds[name])
  )
}

const defaultTimes = timesOptions.read({})

/**
 * Whether the application needs what Deno's server lacks. It closes no connection, so it is only for applications behind a
 * proxy that does. It is also none for WebSockets: it completes messages of any length.
 */
function needsDenoNodeServer(options: ListenOptions): boolean {
  const { times, bounds } = options.settings
  return (
    needsNodeServer(options) ||
    bounds.connections !== defaultBounds.connections ||
    times.headers !== defaultTimes.headers ||
    times.keepAlive !== Infinity
  )
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

// Workers: `workers: 4`. The first process starts the others and replaces those that end. Each worker runs the same program
// and listens itself.

interface Workers {
  /** The address on which they listen. */
  readonly url: string
  /** Asks every worker to close and waits until all have ended. */
  close(): Promise<void>
}

/** A worker that ends within this time in milliseconds is restarted with a delay. */
const shortLife = 1000

/** The messages between the processes. */
type WorkerMessage =
  | { readonly filigree: 'listening'; readonly url: string }
  | { readonly filigree: 'close' }
  /** From a worker to all others, through the first process: which caller has written. */
  | { readonly filigree: 'wrote'; readonly names: readonly string[] }

/** True in the process that starts the workers and does not listen itself. */
function startsWorkers(workers: number): boolean {
  return workers > 1 && cluster.isPrimary
}

/**
 * Starts the workers.
 *
 * @returns once all of them listen; rejects if one ends before it does
 */
async function startWorkers(count: number, log: Log): Promise<Workers> {
  let closing = false
  const startWorker = (worker: Worker): void => {
    const startTime = performance.now()
    worker.once('exit', (code: number) => {
      if (closing) return
      log.error({ pid: worker.process.pid, code }, 'a worker ended and is replaced')
      const lived = performance.now() - startTime
      setTimeout(
        () => {
          if (!closing) startWorker(fork())
        },
        lived < shortLife ? shortLife : 0,
      )
    })
  }
  const workers = Array.from({ length: count }, fork)
  const close = async (): Promise<void> => {
    closing = true
    const open = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
    await Promise.all(open.map(closeWorker))
  }
  try {
    const urls = await Promise.all(workers.map(whenListening))
    workers.forEach(startWorker)
    return { url: urls[0] ?? '', close }
  } catch (error) {
    await close()
    throw error
  }
}

/** The workers that have reported their address: only these receive messages. */
const listening = new WeakSet<Worker>()

function fork(): Worker {
  const worker = cluster.fork()
  worker.on('message', (message: Partial<WorkerMessage> | null) => {
    if (message?.filigree === 'listening') listening.add(worker)
    if (message?.filigree === 'wrote') forward(message as WorkerMessage, worker)
  })
  return worker
}

function forward(message: WorkerMessage, from: Worker): void {
  for (const worker of Object.values(cluster.workers ?? {})) {
    if (worker !== undefined && worker !== from && worker.isConnected()) worker.send(message)
  }
}

/** In a worker: the other workers, which serve the same callers. */
export function otherWorkers(): OtherProcesses | undefined {
  if (!cluster.isWorker) return undefined
  return {
    notify: (names) => {
      if (process.connected) process.send?.({ filigree: 'wrote', names } satisfies WorkerMessage)
    },
    onNotified: (listener) => {
      const onMessage = (message: unknown): void => {
        const { filigree, names } = (message ?? {}) as {
          filigree?: unknown
          names?: readonly string[]
        }
        if (filigree === 'wrote' && names !== undefined) listener(names)
      }
      process.on('message', onMessage)
      return () => process.off('message', onMessage)
    },
  }
}

/** In a worker: reports its address to the first process, and closes when it is asked to. */
export function reportToPrimary(url: string, close: () => Promise<void>): void {
  if (!cluster.isWorker) return
  process.send?.({ filigree: 'listening', url } satisfies WorkerMessage)
  process.on('message', (message) => {
    if ((message as Partial<WorkerMessage> | null)?.filigree !== 'close') return
    close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  })
}

function whenListening(worker: Worker): Promise<string> {
  return new Promise((resolve, reject) => {
    worker.on('message', (message: Partial<WorkerMessage> | null) => {
      if (message?.filigree === 'listening') resolve((message as { url: string }).url)
    })
    worker.once('exit', (code) => {
      reject(
        new Error(
          `A worker ended with code ${String(code)} before it listened. Its log contains the reason.`,
        ),
      )
    })
  })
}

async function closeWorker(worker: Worker): Promise<void> {
  if (worker.isDead()) return
  const ended = once(worker, 'exit')
  // A worker that is still starting has no requests in flight and cannot receive messages yet: it would start listening
  // later and remain.
  if (worker.isConnected() && listening.has(worker)) {
    worker.send({ filigree: 'close' } satisfies WorkerMessage)
  } else worker.process.kill()
  await ended
}
