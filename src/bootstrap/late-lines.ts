/**
 * Lines of the log that need not be there at once: they are written together, after 100 ms at most, and before the process
 * ends. Source: decisions, Operations.
 */
import type { DeferredLog } from '../core/log.js'

/** Milliseconds that a line waits at most. */
const longestWait = 100
/** Letters that are written without waiting. */
const most = 64 * 1024

export class LateLines implements DeferredLog {
  readonly #write: (text: string) => void
  #text = ''
  #timer: NodeJS.Timeout | undefined

  /** @param write writes at once, whoever reads slowly */
  constructor(write: (text: string) => void) {
    this.#write = write
  }

  add(line: string): void {
    this.#text += line
    if (this.#text.length >= most) this.flush()
    else this.#timer ??= this.#wait()
  }

  readonly flush = (): void => {
    clearTimeout(this.#timer)
    this.#timer = undefined
    waiting.delete(this)
    const text = this.#text
    this.#text = ''
    if (text !== '') this.#write(text)
  }

  #wait(): NodeJS.Timeout {
    if (!isWatching) process.on('exit', flushAll)
    isWatching = true
    waiting.add(this)
    // What waits keeps no process alive.
    return setTimeout(this.flush, longestWait).unref()
  }
}

/** Those with lines that are not written yet. */
const waiting = new Set<LateLines>()
let isWatching = false

/** By `process.exit`, after errors that nobody caught, and where nothing is left to do. */
function flushAll(): void {
  for (const lines of waiting) lines.flush()
}
