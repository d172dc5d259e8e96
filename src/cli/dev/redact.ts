/** Leaves secrets out of what the development page shows: tokens, cookies, passwords, hidden fields. */
import { readShape } from '../../fields/shape.js'
import type { Class } from '../../metadata/note.js'

/** Stands where a value was. */
export const hiddenText = '(hidden)'

const secret =
  /pass(?:word|wd|phrase|code)?$|^pw$|pin$|secret|token|^jwt$|api.?key|private.?key|credential|authorization|cookie|session|otp|signature|^code$|hash$/i

export function isSecret(name: string): boolean {
  // `filter[token]`, `user.password.eq`: the last word but operators decides, the others too.
  return name.split(/[.[\]]+/).some((part) => secret.test(part))
}

const secretHeaders =
  /^(?:authorization|proxy-authorization|cookie|set-cookie|freshtoken|x-api-key|idempotency-key)$/i

export function redactHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      secretHeaders.test(name) || isSecret(name) ? hiddenText : value,
    ]),
  )
}

/** @param url path and query */
export function redactUrl(url: string): string {
  const [path = '', query] = url.split(/\?(.*)/s)
  if (query === undefined) return path
  const pairs = query.split('&').map((pair) => {
    const [name = ''] = pair.split('=')
    return isSecret(decoded(name)) ? `${name}=${hiddenText}` : pair
  })
  return `${path}?${pairs.join('&')}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

const deepest = 6
const mostKeys = 100
const longest = 4000

/** A copy of a value that can be shown: without secrets, without what is too large. */
export function redactValue(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return shorten(redactText(value))
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'function' || typeof value === 'symbol') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= deepest) return '…'
  if (value instanceof Date) return value
  if (value instanceof Error) return redactText(value.stack ?? value.message)
  if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`
  if (Array.isArray(value))
    return value.slice(0, mostKeys).map((item) => redactValue(item, depth + 1))
  const hidden = hiddenFields(value)
  const entries = Object.entries(value).slice(0, mostKeys)
  return Object.fromEntries(
    entries.map(([key, item]) => [
      key,
      isSecret(key) || hidden.has(key) ? hiddenText : redactValue(item, depth + 1),
    ]),
  )
}

/** Fields that the value's class hides. */
function hiddenFields(value: object): ReadonlySet<string> {
  const { constructor } = value as { constructor?: unknown }
  if (typeof constructor !== 'function' || constructor === Object) return new Set()
  const { fields } = readShape(constructor as Class)
  return new Set(fields.filter(({ hidden }) => hidden).map(({ name }) => name))
}

/** GraphQL documents have arguments with secrets in them; tokens are known by their form. */
export function redactText(text: string): string {
  return text
    .replace(/\b(\w+)(\s*:\s*)"(?:[^"\\]|\\.)*"/g, (all, name: string, colon: string) =>
      isSecret(name) ? `${name}${colon}"${hiddenText}"` : all,
    )
    .replace(/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, hiddenText)
    .replace(/\b([a-z]+:\/\/[^\s:/@]+):[^\s@]+@/gi, `$1:${hiddenText}@`)
}

function shorten(text: string): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}
