/** An answer that may become a stream: as soon as something is said ahead of it, or when it takes long. */
import type { EventItem } from '../../index.js'
import type { Answered } from './protocol.js'

/** How long a call may take before its answer becomes a stream, whose heartbeats keep the connection. */
const longCall = 5_000

/** How many messages wait for a client that does not read. */
const mostUnread = 100

export class Conversation {
  #said: string[] = []
  #wake: (() => void) | undefined

  /** Sends a message ahead of the answer. For a client that does not read the latest alone are kept. */
  say(text: string): void {
    if (this.#said.length >= mostUnread) this.#said.shift()
    this.#said.push(text)
    this.#wake?.()
  }

  /** @returns the answer, or undefined where a stream has to begin before it */
  first(running: Promise<Answered | undefined>): Promise<Answered | undefined> {
    if (this.#said.length > 0) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const begin = (): void => {
        end(undefined)
      }
      const timer = setTimeout(begin, longCall)
      const end = (answered: Answered | undefined): void => {
        if (this.#wake !== begin) return
        clearTimeout(timer)
        this.#wake = undefined
        resolve(answered)
      }
      this.#wake = begin
      void running.then(end)
    })
  }

  /** What is said, as it comes, and the answer at last. */
  async *items(running: Promise<Answered | undefined>): AsyncGenerator<EventItem, void, undefined> {
    const end: { isOver: boolean; answered?: Answered | undefined } = { isOver: false }
    void running.then((answered) => {
      end.answered = answered
      end.isOver = true
      this.#wake?.()
    })
    for (;;) {
      for (const data of this.#said.splice(0)) yield { data }
      // What was said while one was sent.
      if (this.#said.length > 0) continue
      if (end.isOver) break
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    if (end.answered !== undefined) yield { data: end.answered.text }
  }
}
