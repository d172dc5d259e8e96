/**
 * The time of the database's machine, which all processes that use it share, however their own clocks stand. It is read
 * now and then and goes on by the process's steady clock between two readings, so that asking costs nothing. Source:
 * decisions, Operations.
 */
import { attempt, promise, type MaybePromise } from '../core/maybe-promise.js'
import type { Clock } from '../core/clock.js'
import type { Row } from '../engines/contract/engine.js'

/** Milliseconds after which the time is read again, when somebody asks for it. */
const readEvery = 30_000
/** Milliseconds that a reading may take at most; a later answer says too little. */
const longestReading = 2_000
/** Milliseconds between two attempts while the database does not answer. */
const pause = 1_000
/** Milliseconds by which the system's clock may leave the steady one before the time is read again: it was set, or slept. */
const leap = 500

export class DatabaseClock {
  readonly #read: () => MaybePromise<Row | undefined>
  /** Milliseconds from the steady clock to the database's; undefined: it never answered. */
  #ahead: number | undefined
  #nextReading = 0
  /** The system's clock less the steady one, at the last reading. */
  #system = systemAhead()
  #reading: Promise<void> | undefined

  /** @param read asks for the milliseconds since 1970 */
  constructor(read: () => MaybePromise<Row | undefined>) {
    this.#read = read
  }

  /** Milliseconds since 1970 by the database's clock, or by the system's until it has answered once. */
  now(clock?: Clock): number {
    const steady = performance.now()
    if (steady >= this.#nextReading || Math.abs(systemAhead() - this.#system) > leap)
      void this.read()
    const now = this.#ahead === undefined ? Date.now() : Math.round(steady + this.#ahead)
    return clock === undefined ? now : now + clock.moved()
  }

  /** Reads the time. Never fails: until it is read, the earlier reading counts. */
  read(): Promise<void> {
    this.#nextReading = performance.now() + pause
    this.#reading ??= this.#ask().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #ask(): Promise<void> {
    this.#system = systemAhead()
    const began = performance.now()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, longestReading, undefined).unref()
    })
    const answer = promise(() => attempt(this.#read, () => undefined))
    const row = await Promise.race([answer, late])
    clearTimeout(timer)
    const time = Number(row?.[0])
    const ended = performance.now()
    if (Number.isNaN(time) || ended - began > longestReading) return
    this.#ahead = time - (began + ended) / 2
    this.#nextReading = ended + readEvery
  }
}

function systemAhead(): number {
  return Date.now() - performance.now()
}
