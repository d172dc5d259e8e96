/**
 * The metrics of all workers of a machine in one scrape. A worker that is scraped asks the first process, which asks the
 * others and answers with what all have measured. Workers tell it what they have counted every second, so that it stays
 * when one of them ends. Source: decisions, "Third storey: in operation", Workers.
 */
import cluster, { type Worker } from 'node:cluster'
import { counted, labelled, together, type Family } from './metric-families.js'

/** Milliseconds that the first process waits for a worker's answer; then what it told last counts. */
const patience = 1500
/** Milliseconds after which a worker that gets no answer from the first process tells its own alone. */
const longestWait = 2500
/** Milliseconds between two times that a worker tells what it has counted, while it counts. */
const tellEvery = 500

/** The messages between the processes; `of` numbers the applications of a process that have metrics. */
type Message = { readonly filigree: 'metrics'; readonly of: number } & (
  | { readonly say: 'counted'; readonly families: readonly Family[] }
  | { readonly say: 'ask'; readonly id: number; readonly families: readonly Family[] }
  | { readonly say: 'tell'; readonly id: number }
  | { readonly say: 'told'; readonly id: number; readonly families: readonly Family[] }
  | { readonly say: 'all'; readonly id: number; readonly parts: readonly Part[] }
)

/** What one worker has measured; of workers that have ended what they counted. */
interface Part {
  readonly worker: number
  readonly families: readonly Family[]
}

/** Workers that have ended and are still told of by themselves; what the earlier ones counted is one, number 0. */
const mostEnded = 16

let applications = 0

export interface Measures {
  /** All that this process has measured. */
  readonly measure: () => readonly Family[]
  /** Its counters alone. */
  readonly count: () => readonly Family[]
}

export class AllWorkers {
  readonly #measure: () => readonly Family[]
  readonly #count: () => readonly Family[]
  readonly #of = ++applications
  readonly #waiting = new Map<number, (parts: readonly Part[]) => void>()
  #ends: (() => void)[] = []
  #asked = 0
  /** Something was counted since it was told. */
  hasNews = false

  constructor({ measure, count }: Measures) {
    this.#measure = measure
    this.#count = count
  }

  start(): void {
    if (cluster.isPrimary) this.#ends.push(collect(this.#of))
    else this.#follow()
  }

  /** The first process keeps what was counted until the end. */
  stop(): void {
    for (const end of this.#ends.splice(0)) end()
    if (cluster.isWorker) this.#tellCounted()
  }

  /** @param isLabelled each worker's own, with a label that names it */
  async measure(isLabelled: boolean): Promise<readonly Family[]> {
    const parts = cluster.isWorker && process.connected ? await this.#ask() : undefined
    if (parts === undefined) return this.#measure()
    const own = { worker: cluster.worker?.id ?? 0, families: this.#measure() }
    const all = [...parts.filter(({ worker }) => worker !== own.worker), own]
    return together(
      all.map(({ worker, families }) =>
        isLabelled ? labelled(families, `worker="${worker}"`) : families,
      ),
    )
  }

  #follow(): void {
    const hear = (given: unknown): void => {
      const message = given as Message
      if (!isOurs(message, this.#of)) return
      if (message.say === 'tell') {
        send({ ...heading(this.#of), say: 'told', id: message.id, families: this.#measure() })
      } else if (message.say === 'all') this.#waiting.get(message.id)?.(message.parts)
    }
    process.on('message', hear)
    const telling = setInterval(() => {
      if (this.hasNews) this.#tellCounted()
    }, tellEvery).unref()
    this.#ends.push(() => {
      process.off('message', hear)
      clearInterval(telling)
    })
  }

  #tellCounted(): void {
    this.hasNews = false
    send({ ...heading(this.#of), say: 'counted', families: this.#count() })
  }

  #ask(): Promise<readonly Part[] | undefined> {
    const id = ++this.#asked
    return new Promise((resolve) => {
      const end = (parts: readonly Part[] | undefined): void => {
        this.#waiting.delete(id)
        clearTimeout(timer)
        resolve(parts)
      }
      const timer = setTimeout(end, longestWait, undefined)
      this.#waiting.set(id, end)
      send({ ...heading(this.#of), say: 'ask', id, families: this.#count() })
    })
  }
}

/** In the first process: hears what workers have counted, and asks all of them for one. @returns what ends it */
function collect(of: number): () => void {
  const known = new Map<number, readonly Family[]>()
  const asking = new Map<number, (worker: number, families: readonly Family[]) => void>()
  let questions = 0
  const ask = async (asker: Worker, id: number): Promise<void> => {
    const others = Object.values(cluster.workers ?? {}).filter(
      (worker) => worker !== undefined && worker !== asker && worker.isConnected(),
    ) as Worker[]
    const question = ++questions
    const open = new Set(others.map((worker) => worker.id))
    const told = new Map<number, readonly Family[]>()
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, patience)
      const settle = (): void => {
        if (open.size > 0) return
        clearTimeout(timer)
        resolve()
      }
      asking.set(question, (worker, families) => {
        told.set(worker, families)
        known.set(worker, counted(families))
        open.delete(worker)
        settle()
      })
      for (const worker of others) worker.send({ ...heading(of), say: 'tell', id: question })
      settle()
    })
    asking.delete(question)
    const parts = new Map([...known, ...told])
    if (!asker.isConnected()) return
    asker.send({
      ...heading(of),
      say: 'all',
      id,
      parts: [...parts].map(([worker, families]) => ({ worker, families })),
    } satisfies Message)
  }
  const hear = (worker: Worker, given: unknown): void => {
    const message = given as Message
    if (!isOurs(message, of)) return
    if (message.say === 'counted') known.set(worker.id, message.families)
    else if (message.say === 'told') asking.get(message.id)?.(worker.id, message.families)
    else if (message.say === 'ask') {
      known.set(worker.id, message.families)
      void ask(worker, message.id)
    }
  }
  const ended: number[] = []
  const end = ({ id }: Worker): void => {
    ended.push(id)
    const oldest = ended.length > mostEnded ? ended.shift() : undefined
    if (oldest === undefined) return
    known.set(0, together([known.get(0) ?? [], known.get(oldest) ?? []]))
    known.delete(oldest)
  }
  cluster.on('message', hear)
  cluster.on('exit', end)
  return () => {
    cluster.off('message', hear)
    cluster.off('exit', end)
  }
}

function isOurs(message: Message, of: number): boolean {
  return (
    typeof message === 'object' &&
    (message as unknown) !== null &&
    (message as { filigree?: unknown }).filigree === 'metrics' &&
    message.of === of
  )
}

function heading(of: number): { readonly filigree: 'metrics'; readonly of: number } {
  return { filigree: 'metrics', of }
}

function send(message: Message): void {
  if (process.connected) process.send?.(message)
}
