/**
 * Several processes behind one port: `workers: 4`. The first process starts the others and keeps their number; each of
 * them runs the same program and listens by itself, the port being shared by node:cluster.
 */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import type { Log } from '../core/log.js'
import type { OtherProcesses } from '../records/engines/engine-caller.js'

export interface Workers {
  /** Where they listen. */
  readonly url: string
  /** Asks every worker to close and waits until all are gone. */
  close(): Promise<void>
}

/** A worker that ends sooner than this many milliseconds after its start is not started again at once. */
const shortLife = 1000

/** What the processes tell each other. */
type Message =
  | { readonly filigree: 'listening'; readonly url: string }
  | { readonly filigree: 'close' }
  /** Of a worker to all others, by way of the first process: who has written. */
  | { readonly filigree: 'wrote'; readonly names: readonly string[] }

/** True in the process that starts workers instead of listening. */
export function startsWorkers(workers: number): boolean {
  return workers > 1 && cluster.isPrimary
}

/**
 * Starts the workers.
 *
 * @returns once all of them listen; rejects when one ends before it does
 */
export async function startWorkers(count: number, log: Log): Promise<Workers> {
  let closing = false
  const keep = (worker: Worker): void => {
    const began = performance.now()
    worker.once('exit', (code: number) => {
      if (closing) return
      log.error({ pid: worker.process.pid, code }, 'a worker ended; another takes its place')
      const lived = performance.now() - began
      setTimeout(
        () => {
          if (!closing) keep(fork())
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
    workers.forEach(keep)
    return { url: urls[0] ?? '', close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Those that have said where they listen: they take messages. */
const listening = new WeakSet<Worker>()

function fork(): Worker {
  const worker = cluster.fork()
  worker.on('message', (message: Partial<Message>) => {
    if (message.filigree === 'listening') listening.add(worker)
    if (message.filigree === 'wrote') handOn(message as Message, worker)
  })
  return worker
}

function handOn(message: Message, from: Worker): void {
  for (const worker of Object.values(cluster.workers ?? {})) {
    if (worker !== undefined && worker !== from && worker.isConnected()) worker.send(message)
  }
}

/** In a worker: the others, which serve the same callers. */
export function otherWorkers(): OtherProcesses | undefined {
  if (!cluster.isWorker) return undefined
  return {
    tell: (names) => {
      if (process.connected) process.send?.({ filigree: 'wrote', names } satisfies Message)
    },
    onTold: (listener) => {
      const hear = (message: unknown): void => {
        const { filigree, names } = message as { filigree?: unknown; names?: readonly string[] }
        if (filigree === 'wrote' && names !== undefined) listener(names)
      }
      process.on('message', hear)
      return () => process.off('message', hear)
    },
  }
}

/** In a worker: tells the first process where it listens, and closes when it is asked to. */
export function reportToPrimary(url: string, close: () => Promise<void>): void {
  if (!cluster.isWorker) return
  process.send?.({ filigree: 'listening', url } satisfies Message)
  process.on('message', (message) => {
    if ((message as Partial<Message>).filigree !== 'close') return
    close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  })
}

function whenListening(worker: Worker): Promise<string> {
  return new Promise((resolve, reject) => {
    worker.on('message', (message: Partial<Message>) => {
      if (message.filigree === 'listening') resolve((message as { url: string }).url)
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
  // A worker that is still starting cannot receive messages yet and has nothing in flight: it would listen later, and
  // stay.
  if (worker.isConnected() && listening.has(worker)) {
    worker.send({ filigree: 'close' } satisfies Message)
  } else worker.process.kill()
  await ended
}
