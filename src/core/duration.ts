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
