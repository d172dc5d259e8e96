/**
 * The hash of a table: the sum of the hashes of its rows. It does not depend on the order of the rows, which differs between
 * databases, and needs no memory. It finds accidents, not attacks, so a fast function suffices: two products for each
 * character. Source: cyrb53, a public-domain hash by bryc.
 */

import { tryParseJson } from '../../core/json.js'

/** Two sums of 32 bits. A changed row changes them, except in one of 2^64 cases. */
export class RowHash {
  readonly #sums = new Uint32Array(2)

  add(row: readonly (string | null)[]): void {
    addHash(row, this.#sums, 0)
  }

  /** @returns 16 hexadecimal digits */
  toString(): string {
    return [...this.#sums].map((sum) => sum.toString(16).padStart(8, '0')).join('')
  }
}

/**
 * Adds the hash of a row to the two sums at a position. Each value counts with its length, so that no two rows have the same
 * hash by design.
 */
export function addHash(
  row: readonly (string | null)[],
  sums: Uint32Array,
  position: number,
): void {
  let [a, b] = [0xdeadbeef, 0x41c6ce57]
  for (let column = 0; column < row.length; column++) {
    const value = row[column] ?? null
    const length = value === null ? -1 : value.length
    a = Math.imul(a ^ length, 2654435761)
    b = Math.imul(b ^ length, 1597334677)
    if (value === null) continue
    for (let index = 0; index < length; index++) {
      const code = value.charCodeAt(index)
      a = Math.imul(a ^ code, 2654435761)
      b = Math.imul(b ^ code, 1597334677)
    }
  }
  const first = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  const second =
    Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(first ^ (first >>> 13), 3266489909)
  sums[position] = (sums[position] ?? 0) + first
  sums[position + 1] = (sums[position + 1] ?? 0) + second
}

/** @param formatted the positions of JSON that one of the databases formats @returns the row as it is compared */
export function toPlainRow(
  row: readonly (string | null)[],
  formatted: readonly number[],
): readonly (string | null)[] {
  if (formatted.length === 0) return row
  return row.map((value, index) =>
    value !== null && formatted.includes(index) ? toPlainJson(value) : value,
  )
}

/** JSON with the keys of objects in order, without white space. */
function toPlainJson(text: string): string {
  const value = tryParseJson(text)
  return value === undefined ? text : JSON.stringify(sortKeys(value))
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, one]) => [key, sortKeys(one)]))
}
