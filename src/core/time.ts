/** Time: the clock of an application, timers that use it, and durations and rates written as text. */

/**
 * The clock of an application. Tokens, sessions, limits and caches read it instead of the system time, so that tests
 * can move it. Every application provides it: `static inject = [Clock]`.
 */
export class Clock {
  /** True for the movable clock of a test. Background work then waits until the test triggers it. */
  readonly isMoved: boolean = false

  /** Milliseconds since 1970. */
  now(): number {
    return Date.now()
  }

  /**
   * Milliseconds by which a test has moved the clock. Processes that share data use the database's clock plus this
   * offset: `database.now(clock)`.
   */
  moved(): number {
    return 0
  }

  /**
   * Registers a watcher that runs when the clock is moved. The system clock never moves.
   *
   * @param _watcher may return a promise
   * @returns a function that removes the watcher
   */
  onMove(_watcher: () => unknown): () => void {
    return () => undefined
  }
}

/** Milliseconds between two checks. */
const every = 250

interface Expiry {
  /** Milliseconds since 1970. */
  readonly until: number
  readonly end: () => void
}

/** Ends things that expire, such as the event streams of an expired token. */
export class Expiries {
  readonly #clock: Clock
  readonly #open = new Set<Expiry>()
  #stop: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * @param until milliseconds since 1970; `Infinity` never expires
   * @param end called once; must not throw
   * @returns a function that removes the entry
   */
  add(until: number, end: () => void): () => void {
    if (until === Infinity) return () => undefined
    const expiry = { until, end }
    this.#open.add(expiry)
    this.#stop ??= this.#start()
    return () => {
      this.#open.delete(expiry)
      if (this.#open.size > 0) return
      this.#stop?.()
      this.#stop = undefined
    }
  }

  /** Starts one timer for all entries. It never keeps the process alive. */
  #start(): () => void {
    const look = (): void => {
      const now = this.#clock.now()
      for (const expiry of this.#open) {
        if (expiry.until > now) continue
        this.#open.delete(expiry)
        expiry.end()
      }
    }
    const timer = setInterval(look, every).unref()
    const stopMoves = this.#clock.onMove(look)
    return () => {
      clearInterval(timer)
      stopMoves()
    }
  }
}

/** A count per time: `100/m`, `1000/15m`. */
export interface Rate {
  readonly limit: number
  /** Milliseconds. */
  readonly window: number
}

/** @returns `undefined` if the text is not a rate */
export function readRate(text: unknown): Rate | undefined {
  if (typeof text !== 'string') return undefined
  const [, limit, count, unit] = /^(\d{1,9})\/(\d{0,6})([smhd])$/.exec(text) ?? []
  const seconds = readSeconds(`${count === '' ? '1' : count}${unit}`)
  if (!(Number(limit) > 0) || seconds === undefined) return undefined
  return { limit: Number(limit), window: seconds * 1000 }
}

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/**
 * @param duration seconds, or text with a unit: `90s`, `15m`, `1.5h`, `7d`
 * @returns whole seconds, at least 1; `undefined` if the value is not a valid duration
 */
export function readSeconds(duration: unknown): number | undefined {
  const seconds = typeof duration === 'string' ? fromText(duration) : duration
  if (typeof seconds !== 'number' || !(seconds >= 1)) return undefined
  const rounded = Math.floor(seconds)
  return Number.isSafeInteger(rounded) ? rounded : undefined
}

function fromText(duration: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([smhd])$/.exec(duration.trim())
  const unit = units[match?.[2] ?? '']
  return match === null || unit === undefined ? undefined : Number(match[1]) * unit
}
