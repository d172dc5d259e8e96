/**
 * Notes a secret in all the forms in which it may occur again in a request (as it is, encoded for an address, within JSON),
 * and gives the text that is shown in its place. Called by the redactor.
 */
import { hiddenText } from './secret-shapes.js'

/** How deep values are looked into. */
export const deepest = 6
/** Shorter secrets are hidden where they stand, but not looked for elsewhere. */
export const shortest = 4

/** Secrets that a request has brought: they are looked for in all that is noted of it. */
export type Seen = Set<string>

/** Notes a secret, and what it looks like elsewhere. */
export function hide(value: string, seen: Seen, least = shortest): string {
  const text = value.trim()
  if (text.length >= least && text !== hiddenText) {
    seen.add(text)
    const written = JSON.stringify(text).slice(1, -1)
    for (const other of [decoded(text), encodeURIComponentSafely(text), written])
      if (other.length >= least) seen.add(other)
  }
  return hiddenText
}

/** Notes all values of an object or list as secrets. */
export function hideAll(value: unknown, seen: Seen, depth = 0): string {
  if (typeof value === 'string' || typeof value === 'bigint') hide(String(value), seen)
  else if (typeof value === 'number') hide(String(value), seen)
  else if (typeof value === 'object' && value !== null && depth < deepest)
    for (const [, item] of entriesOf(value)) hideAll(item, seen, depth + 1)
  return hiddenText
}

/** `Bearer x`; of `Basic x` the password, too. */
export function hideCredentials(header: string, seen: Seen): void {
  const [, scheme = '', rest = ''] = /^(\S+)\s+(.*)$/s.exec(header) ?? ['', '', header]
  hide(rest, seen)
  if (scheme.toLowerCase() !== 'basic') return
  const [, password = ''] = /:(.*)$/s.exec(Buffer.from(rest, 'base64').toString()) ?? []
  hide(password, seen)
}

/** The entries of an object; none where it refuses to be read. */
export function entriesOf(value: object): [string, unknown][] {
  try {
    return Object.entries(value)
  } catch {
    return []
  }
}

/** Percent-decodes a text twice, since what is passed on is encoded again. */
export function decoded(text: string, hasSpaces = true): string {
  let shown = text
  for (let turn = 0; turn < 2 && /[%+]/.test(shown); turn++) {
    try {
      shown = decodeURIComponent(turn === 0 && hasSpaces ? shown.replaceAll('+', ' ') : shown)
    } catch {
      return shown
    }
  }
  return shown
}

function encodeURIComponentSafely(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    return text
  }
}
