/**
 * The hash of a table: the sum of the hashes of its rows. It does not depend on the order of the rows, which differs between
 * databases, and needs no memory.
 */
import { hash } from 'node:crypto'

const lanes = 4

export class RowHash {
  /** The sums of the parts of the hashes, each modulo 2^32. */
  readonly #sums = new Uint32Array(lanes)

  /** @param row the text of `writeRow` */
  add(row: string): void {
    const bytes = hash('sha256', row, 'buffer')
    const sums = this.#sums
    for (let lane = 0; lane < lanes; lane++)
      sums[lane] = (sums[lane] ?? 0) + bytes.readUInt32LE(4 * lane)
  }

  /** @returns 32 hexadecimal digits */
  toString(): string {
    const bytes = Buffer.alloc(4 * lanes)
    for (let lane = 0; lane < lanes; lane++) bytes.writeUInt32LE(this.#sums[lane] ?? 0, 4 * lane)
    return bytes.toString('hex')
  }
}

/**
 * The values of a row as one text, from which they can be read again: each with its length, so that no two rows have the same
 * text.
 */
export function writeRow(values: readonly (string | null)[]): string {
  let text = ''
  for (const value of values) text += value === null ? '-' : `${value.length}:${value}`
  return text
}

/** JSON with the keys of objects in order, without white space. */
export function toPlainJson(text: string): string {
  try {
    return JSON.stringify(sortKeys(JSON.parse(text)))
  } catch {
    return text
  }
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, one]) => [key, sortKeys(one)]))
}
