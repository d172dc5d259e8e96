/** Clients of the two processes: they write and read at a bounded rate, and record what was acknowledged and when. */
import { setTimeout as pause } from 'node:timers/promises'

/** Milliseconds before a failed request is sent again. */
const retryDelay = 100
/** Milliseconds that a row must be old before every process must show it: the default `replicaLag` and some time. */
const visibleAfter = 3000
/** The live list that each process changes. A process knows its own changes without a listener, so it follows the other one. */
export const lists = ['boards', 'panels'] as const
/** The number of rows of a live list. */
export const listRows = 10

interface Answer {
  readonly status: number
  readonly text: string
}

interface SentRequest {
  /** The index of the process. */
  readonly process: number
  /** The address of the client. */
  readonly client: string
  readonly method?: string
  readonly path: string
  readonly body?: object
  readonly key?: string
}

/** A key whose result its client did not know when the new primary responded. */
interface KeyRecord {
  readonly startedAt: number
  readonly settledAt: number
  readonly attempts: number
}

/** Times are milliseconds of `performance.now()`. */
export class Clients {
  /** The number of responses by method and status. 0 means no response. */
  readonly statuses: Record<string, number> = {}
  /** Responses that are neither a success, nor 503 or 409 with `Retry-After`. */
  readonly unclean: string[] = []
  /** Purchases that were acknowledged, with their keys. */
  readonly purchases = new Map<string, { readonly id: number; readonly at: number }>()
  /** Purchases that a read did not find although they were old enough. */
  readonly notFound: string[] = []
  readonly keys = new Map<string, KeyRecord>()
  /** Jobs that were acknowledged. */
  readonly tasks = new Map<string, number>()
  /** The acknowledged changes of the live lists. */
  readonly changes: { process: number; id: number; count: number; at: number }[] = []
  /** The times of the acknowledged writes of each process. */
  readonly acknowledged: number[][]
  /** The times and statuses of the reads of each process. */
  readonly reads: { process: number; status: number; at: number }[] = []
  /** Keys up to this number may be used. */
  allowedKeys = 0
  isOver = false
  readonly #urls: readonly string[]
  readonly #running: Promise<void>[] = []
  #nextKey = 0
  #count = 0

  constructor(urls: readonly string[]) {
    this.#urls = urls
    this.acknowledged = urls.map(() => [])
  }

  get usedKeys(): number {
    return this.keys.size
  }

  /** @param keyRate keys a second of all clients together */
  start(keyClients: number, keyRate: number): void {
    for (const process of this.#urls.keys()) {
      for (let client = 0; client < 4; client++)
        this.#repeat(100, () => this.#buy(process, `10.1.${process}.${client}`))
      this.#repeat(500, () => this.#addTask(process))
      this.#repeat(200, () => this.#change(process))
      for (let client = 0; client < 2; client++) this.#repeat(100, () => this.#read(process))
    }
    for (let client = 0; client < keyClients; client++)
      this.#repeat((1000 * keyClients) / keyRate, () => this.#pay(client))
  }

  async stop(): Promise<void> {
    this.isOver = true
    await Promise.all(this.#running)
  }

  async send({ process, client, method = 'POST', path, body, key }: SentRequest): Promise<Answer> {
    let status = 0
    let text = ''
    try {
      const response = await fetch(`${this.#urls[process] ?? ''}${path}`, {
        method,
        headers: {
          'x-forwarded-for': client,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(key !== undefined && { 'idempotency-key': key }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(60_000),
      })
      status = response.status
      text = await response.text()
      const isRetriable = response.headers.has('retry-after')
      const isExpected =
        status < 400 || (isRetriable && (status === 503 || (status === 409 && key !== undefined)))
      const isSettled = status === 409 && text.includes('response is not stored')
      if (!isExpected && !isSettled && status !== 404)
        this.unclean.push(`${method} ${path}: ${status} ${text}`)
    } catch (error) {
      this.unclean.push(`${method} ${path}: no response (${String(error)})`)
    }
    const name = `${method} ${status}`
    this.statuses[name] = (this.statuses[name] ?? 0) + 1
    if (method !== 'GET' && status > 0 && status < 400)
      this.acknowledged[process]?.push(performance.now())
    return { status, text }
  }

  #repeat(interval: number, work: () => Promise<void>): void {
    const run = async (): Promise<void> => {
      // The clients do not send at the same moment.
      await pause(Math.random() * interval)
      while (!this.isOver) {
        const startedAt = performance.now()
        await work()
        await pause(Math.max(0, interval - (performance.now() - startedAt)))
      }
    }
    this.#running.push(run())
  }

  async #buy(process: number, client: string): Promise<void> {
    const name = `purchase-${this.#count++}`
    const { status, text } = await this.send({ process, client, path: '/buy', body: { name } })
    if (status >= 400 || status === 0) return
    const { id } = JSON.parse(text) as { readonly id: number }
    this.purchases.set(name, { id, at: performance.now() })
    // The caller sees its own write, wherever it is read from.
    const read = await this.send({ process, client, method: 'GET', path: `/purchases/${id}` })
    if (read.status === 404) this.notFound.push(`${name}, by its writer`)
  }

  async #addTask(process: number): Promise<void> {
    const name = `task-${this.#count++}`
    const client = `10.2.${process}.1`
    const { status } = await this.send({ process, client, path: '/tasks', body: { name } })
    if (status > 0 && status < 400) this.tasks.set(name, performance.now())
  }

  async #change(process: number): Promise<void> {
    const count = ++this.#count
    const id = 1 + (count % listRows)
    const { status } = await this.send({
      process,
      client: `10.3.${process}.1`,
      method: 'PATCH',
      path: `/${lists[process] ?? ''}/${id}`,
      body: { count },
    })
    if (status > 0 && status < 400) this.changes.push({ process, id, count, at: performance.now() })
  }

  async #read(process: number): Promise<void> {
    const names = [...this.purchases.keys()]
    const name = names[Math.floor(Math.random() * names.length)] ?? ''
    const purchase = this.purchases.get(name)
    if (purchase === undefined || performance.now() - purchase.at < visibleAfter) return
    const { status } = await this.send({
      process,
      client: `10.4.${process}.1`,
      method: 'GET',
      path: `/purchases/${purchase.id}`,
    })
    if (status === 404) this.notFound.push(`${name}, by another reader`)
    this.reads.push({ process, status, at: performance.now() })
  }

  /** Sends a payment until its result is known, each time to the other process. */
  async #pay(client: number): Promise<void> {
    if (this.#nextKey >= this.allowedKeys) return
    const key = `key-${this.#nextKey++}`
    const startedAt = performance.now()
    for (let attempts = 1; ; attempts++) {
      const { status, text } = await this.send({
        process: (client + attempts) % this.#urls.length,
        client: `10.5.0.${client}`,
        path: '/payments',
        body: { reference: key },
        key,
      })
      const isKnown = (status > 0 && status < 400) || text.includes('response is not stored')
      if (isKnown) {
        this.keys.set(key, { startedAt, settledAt: performance.now(), attempts })
        return
      }
      await pause(retryDelay)
    }
  }
}
