/** Reads how much may happen in a time: `100/m`, `1000/15m`. */

export interface Rate {
  readonly most: number
  /** Milliseconds. */
  readonly window: number
}

/** @returns `undefined` for other texts */
export function readRate(text: unknown): Rate | undefined {
  if (typeof text !== 'string') return undefined
  const [, most, count, unit] = /^(\d{1,9})\/(\d{0,6})([smhd])$/.exec(text) ?? []
  const seconds = readSeconds(`${count === '' ? '1' : count}${unit}`)
  if (!(Number(most) > 0) || seconds === undefined) return undefined
  return { most: Number(most), window: seconds * 1000 }
}

/** Reads a length of time: `1h`, `15m`, or a number of seconds. */

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/**
 * @param duration seconds, or text with a unit: `90s`, `15m`, `1.5h`, `7d`
 * @returns whole seconds, at least 1; `undefined` when it says no such time
 */
export function readSeconds(duration: unknown): number | undefined {
  const seconds = typeof duration === 'string' ? fromText(duration) : duration
  if (typeof seconds !== 'number' || !(seconds >= 1)) return undefined
  const whole = Math.floor(seconds)
  return Number.isSafeInteger(whole) ? whole : undefined
}

function fromText(duration: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([smhd])$/.exec(duration.trim())
  const unit = units[match?.[2] ?? '']
  return match === null || unit === undefined ? undefined : Number(match[1]) * unit
}
