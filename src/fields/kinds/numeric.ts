/** Finite numbers, whole or not. Source: decisions, Routing. */
import { toSafeNumber } from './integer.js'
import type { Kind } from './kind.js'

export const numeric: Kind = {
  storage: 'real',
  compares: 'order',
  graphql: { type: 'Float', filter: 'Float' },
  schema: { type: 'number' },
  label: 'a number',
  test: 'Number.isFinite(v)',
  // Turns -0 into 0.
  read: 'v + 0',
  // Minus zero becomes zero, so that all databases agree.
  encode: (value) => (value as number) + 0,
  toOutput: toSafeNumber,
  outputOnly: 'bigint',
  fromText: toNumber,
  rules: ['min', 'max', 'oneOf'],
}

/** @returns `undefined` unless the text is `-?` digits with an optional fraction, or `.5`: no exponent, no `5.`, finite */
function toNumber(text: string): number | undefined {
  if (text.length > 400 || !/^-?(?:\d+(?:\.\d+)?|\.\d+)$/.test(text)) return undefined
  const value = Number(text) + 0
  return Number.isFinite(value) ? value : undefined
}
