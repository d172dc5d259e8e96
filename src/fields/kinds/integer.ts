/** Whole numbers that survive JSON: the safe integers. Source: decisions, Routing. */
import type { Kind } from './kind.js'

export const integer: Kind = {
  storage: 'integer',
  compares: 'order',
  graphql: { type: 'Int', filter: 'Int' },
  schema: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
  label: 'an integer',
  test: 'Number.isSafeInteger(v)',
  // Turns -0 into 0.
  read: 'v + 0',
  toOutput: toSafeNumber,
  outputOnly: 'bigint',
  fromText: toInteger,
  rules: ['min', 'max', 'oneOf'],
}

/** @returns `undefined` unless the text is `-?` digits and a safe integer; `-0` is 0 */
function toInteger(text: string): number | undefined {
  if (!/^-?\d{1,30}$/.test(text)) return undefined
  const value = Number(text) + 0
  return Number.isSafeInteger(value) ? value : undefined
}

/** @returns a number beyond the safe integers as it is: JSON cannot hold it exactly, so it is not sent */
export function toSafeNumber(value: unknown): unknown {
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}
