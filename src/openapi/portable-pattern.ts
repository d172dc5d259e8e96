/**
 * Writes a JavaScript regular expression as JSON Schema's `pattern`, which has no flags. Source: JSON Schema 2020-12,
 * §6.3.3.
 */

/**
 * `/^[a-f]+$/i` → `^[a-fA-F]+$`.
 *
 * @returns `undefined` if the pattern cannot be written without its flags (`m`, `s`, `v`, `i` with `u`), or would have
 * another meaning: then only the description mentions the pattern
 */
export function portablePattern(pattern: RegExp | string | undefined): string | undefined {
  if (pattern === undefined) return undefined
  const { source, flags } = typeof pattern === 'string' ? { source: pattern, flags: '' } : pattern
  if (/[msv]/.test(flags)) return undefined
  const plain = flags.includes('i') ? withBothCases(source, flags) : source
  // Validators compile patterns with the flag `u`.
  return plain !== undefined && compiles(plain) ? plain : undefined
}

function compiles(source: string): boolean {
  try {
    new RegExp(source, 'u')
    return true
  } catch {
    return false
  }
}

/** One token at a time: an escape, a class, the start of a group, or a single character. */
const tokens =
  /\\(?:k<[^>]*>|u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|.)|\[(?:\\.|[^\]\\])*\]|\(\?(?:<[^=!][^>]*>|[:=!]|<[=!])?|\{\d+(?:,\d*)?\}|[^]/g

/** Writes each letter in both cases. With the flags `i` and `u` other characters have cases too, so such patterns are not converted. */
function withBothCases(source: string, flags: string): string | undefined {
  if (flags.includes('u')) return undefined
  let written = ''
  for (const [token] of source.matchAll(tokens)) {
    // A back reference would have to ignore case, which no pattern can express.
    if (/^\\(?:[1-9]|k<)/.test(token)) return undefined
    if (token.length > 1 && token.startsWith('[')) {
      const expanded = classWithBothCases(token)
      if (expanded === undefined) return undefined
      written += expanded
    } else written += token.length === 1 ? letterClass(token) : token
  }
  return written
}

function letterClass(character: string): string {
  const other = otherCase(character)
  return other === undefined ? character : `[${character}${other}]`
}

/** The members of `[a-fX]`, in both cases: `[a-fXA-Fx]`. */
function classWithBothCases(token: string): string | undefined {
  const members = token.slice(1, -1)
  const added: string[] = []
  const ranges = members.matchAll(/(\\.|[^\\])(?:-(\\.|[^\\]))?/g)
  for (const [, first = '', last] of ranges) {
    if (first.startsWith('\\') || last?.startsWith('\\') === true) {
      // Escapes for many characters, or for characters without case, stay as they are.
      if (last !== undefined || /^\\[xuc]/.test(first)) return undefined
      continue
    }
    added.push(otherRange(first, last ?? first))
  }
  return `[${members}${added.join('')}]`
}

function otherRange(first: string, last: string): string {
  const from = first.codePointAt(0) ?? 0
  const to = last.codePointAt(0) ?? 0
  return [shifted(from, to, 0x61, 0x7a, -32), shifted(from, to, 0x41, 0x5a, 32)].join('')
}

/** The part of a range within the letters of one case, moved to the other case. */
function shifted(from: number, to: number, low: number, high: number, by: number): string {
  const start = Math.max(from, low)
  const end = Math.min(to, high)
  if (start > end) return ''
  const first = String.fromCodePoint(start + by)
  return start === end ? first : `${first}-${String.fromCodePoint(end + by)}`
}

function otherCase(character: string): string | undefined {
  const upper = character.toUpperCase()
  const lower = character.toLowerCase()
  const other = upper === character ? lower : upper
  return other !== character && other.length === character.length ? other : undefined
}
