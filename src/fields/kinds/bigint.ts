/** Whole numbers of 64 bits, beyond what JSON's numbers hold exactly: text outside. Source: decisions, Validation and fields. */
import type { Kind } from './kind.js'

export const bigint: Kind = {
  storage: 'wide',
  compares: 'order',
  graphql: { type: 'String', filter: 'BigInt' },
  schema: { type: 'string', format: 'int64', pattern: '^-?\\d{1,30}$' },
  label: 'a whole number of 64 bits as text',
  test: isWide,
  read: toText,
  encode: toText,
  toOutput,
  fromText: (text) => (isWide(text) ? text : undefined),
  comparable: (value) => BigInt(value as string),
  spellings,
  rules: ['min', 'max', 'oneOf'],
}

function isWide(value: unknown): boolean {
  if (typeof value !== 'string' || !/^-?\d{1,30}$/.test(value)) return false
  const number = BigInt(value)
  return number === BigInt.asIntN(64, number)
}

function spellings(text: string): string {
  const plain = toText(text)
  return plain === '0' ? '-?0{1,30}' : plain.replace(/\d/, '0{0,29}$&')
}

function toOutput(value: unknown): unknown {
  const isNumber = typeof value === 'bigint' || Number.isSafeInteger(value)
  if (isNumber) return String(value)
  return isCanonical(value) || !isWide(value) ? value : toText(value)
}

function isCanonical(value: unknown): boolean {
  return typeof value === 'string' && value.charCodeAt(0) > 0x30
}

/** Without leading zeros; minus zero is zero. */
function toText(value: unknown): string {
  return String(BigInt(value as string))
}
