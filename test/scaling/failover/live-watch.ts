/** Follows a live list of a process, and records when each change arrived. */
import { setTimeout as pause } from 'node:timers/promises'
import { applyRows, openLive, type Message, type Row } from '../../live/live-client.js'

export interface BoardRow extends Row {
  readonly id: number
  readonly count: number
}

interface Seen {
  readonly id: number
  readonly count: number
  /** Milliseconds of `performance.now()`. */
  readonly at: number
}

export class LiveWatch {
  rows: readonly BoardRow[] = []
  readonly seen: Seen[] = []
  /** How often the server ended the stream. The client then opens it again. */
  ended = 0
  #isStopped = false
  #leave: () => void = () => undefined

  /** @param url the address of the list */
  async start(url: string): Promise<void> {
    const first = await openLive(url)
    void this.#follow(url, first)
  }

  stop(): void {
    this.#isStopped = true
    this.#leave()
  }

  /** The first time when a row had this count or a later one. */
  seenAt(id: number, count: number): number | undefined {
    return this.seen.find((one) => one.id === id && one.count >= count)?.at
  }

  async #follow(url: string, first: Awaited<ReturnType<typeof openLive>>): Promise<void> {
    let client: typeof first | undefined = first
    while (!this.#isOver()) {
      const current = client ?? (await openLive(url).catch(() => undefined))
      client = undefined
      if (current === undefined) {
        await pause(100)
        continue
      }
      this.#leave = () => {
        current.leave()
      }
      for (let event = await current.next(); event !== undefined; event = await current.next())
        if (event.event === 'live') this.#apply(JSON.parse(event.data) as Message)
      if (!this.#isOver()) this.ended++
    }
  }

  /** A method, because it changes while the client waits. */
  #isOver(): boolean {
    return this.#isStopped
  }

  #apply(message: Message): void {
    const at = performance.now()
    const isWhole = message.data !== undefined
    const changed = (isWhole ? message.data : (message.set ?? [])) as readonly BoardRow[]
    this.rows = (isWhole ? changed : applyRows(this.rows, message)) as readonly BoardRow[]
    for (const { id, count } of changed) this.seen.push({ id, count, at })
  }
}
