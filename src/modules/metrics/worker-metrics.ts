/**
 * Combines the metrics of all cluster workers in one scrape. A scraped worker sends a request to the primary process, which collects the
 * metrics of the other workers and responds. Workers also report their counters every half second, so that counts survive the end of a worker.
 */
import cluster, { type Worker } from 'node:cluster'
import { countersOnly, addLabel, mergeFamilies, type Family } from './metric-families.js'

/** Milliseconds that the primary waits for a worker. Then its last report counts. */
const workerTimeoutMs = 1500
/** Milliseconds that a scraped worker waits for the primary. Then it returns only its own metrics. */
const primaryTimeoutMs = 2500
/** Milliseconds between two reports of a worker that counts. */
const reportIntervalMs = 500

/** Messages between the processes. `applicationId` numbers the applications of a process that have metrics. */
type MetricsMessage = { readonly filigree: 'metrics'; readonly applicationId: number } & (
  | { readonly kind: 'counts'; readonly families: readonly Family[] }
  | { readonly kind: 'request'; readonly id: number; readonly families: readonly Family[] }
  | { readonly kind: 'measure'; readonly id: number }
  | { readonly kind: 'measured'; readonly id: number; readonly families: readonly Family[] }
  | { readonly kind: 'response'; readonly id: number; readonly parts: readonly MetricsOfWorker[] }
)

/** The metrics of one worker; for an ended worker, its counters. */
interface MetricsOfWorker {
  readonly worker: number
  readonly families: readonly Family[]
}

/** Ended workers whose counters are stored separately. Older ones are merged as number 0. */
const maxEndedWorkers = 16

let applications = 0

export interface Measures {
  /** All metrics of this process. */
  readonly measure: () => readonly Family[]
  /** Only its counters. */
  readonly count: () => readonly Family[]
}

export class WorkerMetrics {
  readonly #measure: () => readonly Family[]
  readonly #count: () => readonly Family[]
  readonly #applicationId = ++applications
  readonly #pendingRequests = new Map<number, (parts: readonly MetricsOfWorker[]) => void>()
  #stopCallbacks: (() => void)[] = []
  #requestCount = 0
  /** True if something was counted since the last report. */
  hasUnreportedCounts = false

  constructor({ measure, count }: Measures) {
    this.#measure = measure
    this.#count = count
  }

  start(): void {
    if (cluster.isPrimary) this.#stopCallbacks.push(collectInPrimary(this.#applicationId))
    else this.#listenToPrimary()
  }

  /** A last report: the primary keeps the counters. */
  stop(): void {
    for (const stop of this.#stopCallbacks.splice(0)) stop()
    if (cluster.isWorker) this.#reportCounts()
  }

  /** @param isLabelled true: one series per worker, with a label */
  async measure(isLabelled: boolean): Promise<readonly Family[]> {
    const parts = cluster.isWorker && process.connected ? await this.#requestAllParts() : undefined
    if (parts === undefined) return this.#measure()
    const ownPart = { worker: cluster.worker?.id ?? 0, families: this.#measure() }
    const allParts = [...parts.filter(({ worker }) => worker !== ownPart.worker), ownPart]
    return mergeFamilies(
      allParts.map(({ worker, families }) =>
        isLabelled ? addLabel(families, `worker="${worker}"`) : families,
      ),
    )
  }

  #listenToPrimary(): void {
    const onMessage = (value: unknown): void => {
      const message = value as MetricsMessage
      if (!isMetricsMessage(message, this.#applicationId)) return
      if (message.kind === 'measure') {
        send({
          ...heading(this.#applicationId),
          kind: 'measured',
          id: message.id,
          families: this.#measure(),
        })
      } else if (message.kind === 'response') this.#pendingRequests.get(message.id)?.(message.parts)
    }
    process.on('message', onMessage)
    const reportTimer = setInterval(() => {
      if (this.hasUnreportedCounts) this.#reportCounts()
    }, reportIntervalMs).unref()
    this.#stopCallbacks.push(() => {
      process.off('message', onMessage)
      clearInterval(reportTimer)
    })
  }

  #reportCounts(): void {
    this.hasUnreportedCounts = false
    send({ ...heading(this.#applicationId), kind: 'counts', families: this.#count() })
  }

  #requestAllParts(): Promise<readonly MetricsOfWorker[] | undefined> {
    const id = ++this.#requestCount
    return new Promise((resolve) => {
      const end = (parts: readonly MetricsOfWorker[] | undefined): void => {
        this.#pendingRequests.delete(id)
        clearTimeout(timer)
        resolve(parts)
      }
      const timer = setTimeout(end, primaryTimeoutMs, undefined)
      this.#pendingRequests.set(id, end)
      send({ ...heading(this.#applicationId), kind: 'request', id, families: this.#count() })
    })
  }
}

/**
 * In the primary: stores the reports of workers, and collects their metrics for one of them. @returns a function that stops this
 */
function collectInPrimary(applicationId: number): () => void {
  const latestCounts = new Map<number, readonly Family[]>()
  const collectors = new Map<number, (worker: number, families: readonly Family[]) => void>()
  let requestCount = 0
  const collectFor = async (requester: Worker, id: number): Promise<void> => {
    const otherWorkers = Object.values(cluster.workers ?? {}).filter(
      (worker) => worker !== undefined && worker !== requester && worker.isConnected(),
    ) as Worker[]
    const requestId = ++requestCount
    const pendingIds = new Set(otherWorkers.map((worker) => worker.id))
    const measured = new Map<number, readonly Family[]>()
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, workerTimeoutMs)
      const settle = (): void => {
        if (pendingIds.size > 0) return
        clearTimeout(timer)
        resolve()
      }
      collectors.set(requestId, (worker, families) => {
        measured.set(worker, families)
        latestCounts.set(worker, countersOnly(families))
        pendingIds.delete(worker)
        settle()
      })
      for (const worker of otherWorkers)
        worker.send({ ...heading(applicationId), kind: 'measure', id: requestId })
      settle()
    })
    collectors.delete(requestId)
    const parts = new Map([...latestCounts, ...measured])
    if (!requester.isConnected()) return
    requester.send({
      ...heading(applicationId),
      kind: 'response',
      id,
      parts: [...parts].map(([worker, families]) => ({ worker, families })),
    } satisfies MetricsMessage)
  }
  const onMessage = (worker: Worker, value: unknown): void => {
    const message = value as MetricsMessage
    if (!isMetricsMessage(message, applicationId)) return
    if (message.kind === 'counts') latestCounts.set(worker.id, message.families)
    else if (message.kind === 'measured') collectors.get(message.id)?.(worker.id, message.families)
    else if (message.kind === 'request') {
      latestCounts.set(worker.id, message.families)
      void collectFor(worker, message.id)
    }
  }
  const endedIds: number[] = []
  const onExit = ({ id }: Worker): void => {
    endedIds.push(id)
    const oldest = endedIds.length > maxEndedWorkers ? endedIds.shift() : undefined
    if (oldest === undefined) return
    latestCounts.set(0, mergeFamilies([latestCounts.get(0) ?? [], latestCounts.get(oldest) ?? []]))
    latestCounts.delete(oldest)
  }
  cluster.on('message', onMessage)
  cluster.on('exit', onExit)
  return () => {
    cluster.off('message', onMessage)
    cluster.off('exit', onExit)
  }
}

function isMetricsMessage(message: MetricsMessage, applicationId: number): boolean {
  return (
    typeof message === 'object' &&
    (message as unknown) !== null &&
    (message as { filigree?: unknown }).filigree === 'metrics' &&
    message.applicationId === applicationId
  )
}

function heading(applicationId: number): {
  readonly filigree: 'metrics'
  readonly applicationId: number
} {
  return { filigree: 'metrics', applicationId }
}

function send(message: MetricsMessage): void {
  if (process.connected) process.send?.(message)
}
