/** Bytes: a Buffer in the program, base64 (RFC 4648 §4, padded) in JSON and text. */
import type { Kind } from './kind.js'

export const blob: Kind = {
  storage: 'bytes',
  compares: 'equality',
  graphql: { type: 'String', filter: 'Bytes' },
  schema: {
    type: 'string',
    contentEncoding: 'base64',
    pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
  },
  label: 'base64 text',
  test: (value) => value instanceof Uint8Array || isBase64(value),
  read: (value) => (typeof value === 'string' ? Buffer.from(value, 'base64') : value),
  write: (value) =>
    value instanceof Uint8Array
      ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
      : value,
  encode: toBytes,
  fromText: (text) => (isBase64(text) ? text : undefined),
  measure: 'bytes',
  rules: ['minLength', 'maxLength'],
}

function toBytes(value: unknown): unknown {
  if (typeof value === 'string') return Buffer.from(value, 'base64')
  return Buffer.isBuffer(value) ? value : Buffer.from(value as Uint8Array)
}

function isBase64(value: unknown): boolean {
  return typeof value === 'string' && value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value)
}
