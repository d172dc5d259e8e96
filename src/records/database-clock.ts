/**
 * The clock of the database's machine, which all processes share even if their own clocks differ. The time is read now
 * and then. Between two readings the process's steady clock continues it, so that `now` sends no statement. Source:
 * decisions, Operations.
 */
import { attempt, promise, type MaybePromise } from '../core/maybe-promise.js'
import type { Clock } from '../core/time.js'
import type { Row } from '../engines/contract/engine.js'

/** Milliseconds after which the next call of `now` reads the time again. */
const readInterval = 30_000
/** The maximum duration of a reading in milliseconds. The result of a longer one is too inaccurate. */
const readTimeout = 2_000
/** Milliseconds between two attempts while the database does not respond. */
const retryInterval = 1_000
/**
 * Milliseconds by which the system clock may drift from the steady one. A larger drift means that it was set or that
 * the machine slept, and the time is read again.
 */
const maxDrift = 500

export class DatabaseClock {
  readonly #read: () => MaybePromise<Row | undefined>
  /** Milliseconds from the steady clock to the database's clock. Undefined until the first reading. */
  #offset: number | undefined
  #nextReading = 0
  /** The system clock minus the steady clock, at the last reading. */
  #systemOffset = systemOffset()
  #reading: Promise<void> | undefined

  /** @param read queries the milliseconds since 1970 */
  constructor(read: () => MaybePromise<Row | undefined>) {
    this.#read = read
  }

  /** Milliseconds since 1970 by the database's clock. Until the first reading, the system's clock is used. */
  now(clock?: Clock): number {
    const steady = performance.now()
    if (steady >= this.#nextReading || Math.abs(systemOffset() - this.#systemOffset) > maxDrift)
      void this.read()
    const now = this.#offset === undefined ? Date.now() : Math.round(steady + this.#offset)
    return clock === undefined ? now : now + clock.moved()
  }

  /** Reads the time. Never fails: if a reading fails, the earlier one stays in use. */
  read(): Promise<void> {
    this.#nextReading = performance.now() + retryInterval
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readOnce(): Promise<void> {
    this.#systemOffset = systemOffset()
    const startedAt = performance.now()
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, readTimeout, undefined).unref()
    })
    const reading = promise(() => attempt(this.#read, () => undefined))
    const row = await Promise.race([reading, timeout])
    clearTimeout(timer)
    const time = Number(row?.[0])
    const endedAt = performance.now()
    if (Number.isNaN(time) || endedAt - startedAt > readTimeout) return
    this.#offset = time - (startedAt + endedAt) / 2
    this.#nextReading = endedAt + readInterval
  }
}

function systemOffset(): number {
  return Date.now() - performance.now()
}
