/**
 * Several processes behind one port: `workers: 4`. The first process starts the others and replaces those that end;
 * each of them runs the same program and listens itself, and node:cluster shares the port.
 */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import type { Log } from '../core/log.js'
import type { OtherProcesses } from '../engines/contract/engine.js'

export interface Workers {
  /** The address on which they listen. */
  readonly url: string
  /** Asks every worker to close and waits until all have ended. */
  close(): Promise<void>
}

/** A worker that ends within so many milliseconds of its start is restarted with a delay. */
const shortLife = 1000

/** The messages between the processes. */
type Message =
  | { readonly filigree: 'listening'; readonly url: string }
  | { readonly filigree: 'close' }
  /** From a worker to all others, through the first process: which caller has written. */
  | { readonly filigree: 'wrote'; readonly names: readonly string[] }

/** True in the process that starts the workers and does not listen itself. */
export function startsWorkers(workers: number): boolean {
  return workers > 1 && cluster.isPrimary
}

/**
 * Starts the workers.
 *
 * @returns once all of them listen; rejects if one ends before it does
 */
export async function startWorkers(count: number, log: Log): Promise<Workers> {
  let closing = false
  const startWorker = (worker: Worker): void => {
    const startTime = performance.now()
    worker.once('exit', (code: number) => {
      if (closing) return
      log.error({ pid: worker.process.pid, code }, 'a worker ended; another takes its place')
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
  worker.on('message', (message: Partial<Message> | null) => {
    if (message?.filigree === 'listening') listening.add(worker)
    if (message?.filigree === 'wrote') handOn(message as Message, worker)
  })
  return worker
}

function handOn(message: Message, from: Worker): void {
  for (const worker of Object.values(cluster.workers ?? {})) {
    if (worker !== undefined && worker !== from && worker.isConnected()) worker.send(message)
  }
}

/** In a worker: the other workers, which serve the same callers. */
export function otherWorkers(): OtherProcesses | undefined {
  if (!cluster.isWorker) return undefined
  return {
    notify: (names) => {
      if (process.connected) process.send?.({ filigree: 'wrote', names } satisfies Message)
    },
    onNotified: (listener) => {
      const hear = (message: unknown): void => {
        const { filigree, names } = (message ?? {}) as {
          filigree?: unknown
          names?: readonly string[]
        }
        if (filigree === 'wrote' && names !== undefined) listener(names)
      }
      process.on('message', hear)
      return () => process.off('message', hear)
    },
  }
}

/** In a worker: reports its address to the first process, and closes when it is asked to. */
export function reportToPrimary(url: string, close: () => Promise<void>): void {
  if (!cluster.isWorker) return
  process.send?.({ filigree: 'listening', url } satisfies Message)
  process.on('message', (message) => {
    if ((message as Partial<Message> | null)?.filigree !== 'close') return
    close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  })
}

function whenListening(worker: Worker): Promise<string> {
  return new Promise((resolve, reject) => {
    worker.on('message', (message: Partial<Message> | null) => {
      if (message?.filigree === 'listening') resolve((message as { url: string }).url)
    })
    worker.once('exit', (code) => {
      reject(
        new Error(`A worker ended with code ${String(code)} before it listened; its log says why.`),
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
    worker.send({ filigree: 'close' } satisfies Message)
  } else worker.process.kill()
  await ended
}
