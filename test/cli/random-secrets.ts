/** Random secrets for property tests. */
import fc from 'fast-check'

/** Passwords, with characters that encodings change. */
export const passwords = fc
  .tuple(
    fc.constantFrom('zq', 'qx', 'jx'),
    fc.string({
      unit: fc.constantFrom(...Array.from('abyz0189 -_."\'\\{}&=:;,()$%+äß')),
      minLength: 4,
      maxLength: 12,
    }),
    fc.constantFrom('9zq', 'qj7', 'xq'),
  )
  .map((all) => all.join(''))
const bytes = fc
  .uint8Array({ minLength: 24, maxLength: 40 })
  .map((list) => Buffer.from(list.map((one, index) => one ^ ((index * 151 + 77) % 251))))
const base64url = bytes.map((value) => value.toString('base64url'))
/** Tokens in the usual encodings. */
export const tokens = fc.oneof(
  base64url,
  bytes.map((value) => value.toString('hex')),
  bytes.map((value) => value.toString('base64').replaceAll('/', '%2F')),
  base64url.map((value) => `eyJhbGciOiJIUzI1NiJ9.${value}.${value.slice(4)}`),
  base64url.map((value) => `sk_live_${value.replaceAll(/\W/g, '')}`),
)
