/** Reads rates, a count per time: `100/m`, `1000/15m`. */

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
