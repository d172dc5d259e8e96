/** Reads how much may happen in a time: `100/m`, `1000/15m`. */
import { readSeconds } from './duration.js'

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
