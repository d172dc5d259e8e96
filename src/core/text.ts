/** Maximum characters of client input that a message repeats. */
export const maxRepeatedLength = 200

/** Shortens a client's text for a message to 200 characters, without splitting a character. */
export function clip(text: string): string {
  if (text.length <= maxRepeatedLength) return text
  return `${text.slice(0, maxRepeatedLength).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** @returns the percent-decoded text; `undefined` if a `%` begins no escape */
export function tryDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** NUL and unpaired surrogates. */
const unstorable = /[\0\ud800-\udfff]/u

/** False for text with NUL or an unpaired surrogate. Databases reject or change it. */
export function isStorable(text: string): boolean {
  return !unstorable.test(text)
}

/** Source: UAX #15 §13, Stream-Safe Text Format. No language needs longer sequences of combining marks. */
const maxMarks = 30
const sequencesOfMarks = /\p{M}{2,31}/gu

/** False for text with very long sequences of combining marks. */
function isStreamSafe(text: string): boolean {
  for (const [marks] of text.matchAll(sequencesOfMarks)) if (marks.length > maxMarks) return false
  return true
}

/**
 * Normalises a client's text. Text with very long sequences of combining marks is returned unchanged, because the time to
 * sort a sequence grows with the square of its length: 400 KB take half a minute.
 */
export function normalizeText(text: string, form: 'NFC' | 'NFKC'): string {
  return isStreamSafe(text) ? text.normalize(form) : text
}

/**
 * Converts text to the form in which case does not matter. The Greek sigma has two small letters, one of them for the end
 * of a word, so both become the same.
 */
export function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ')
}

/** The composed and the decomposed form of a text, which look the same: once if they are equal. */
export function unicodeForms(text: string): readonly string[] {
  return [...new Set([text.normalize('NFC'), text.normalize('NFD')])]
}

/** Escapes text for a regular expression. */
export function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}

/**
 * Finds the end of a text in double quotes, in which a backslash escapes the next character. This is a loop, because a
 * regular expression would search again from each quote if the last one is not closed.
 *
 * @param start the index of the opening quote
 * @returns the index of the closing quote, or -1. Then no quote after `start` is closed either
 */
export function findClosingQuote(text: string, start: number): number {
  for (let position = start + 1; position < text.length; position++) {
    const character = text.charCodeAt(position)
    if (character === quote) return position
    if (character === backslash) position++
  }
  return -1
}

const [quote, backslash] = [0x22, 0x5c]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for HTML, as content and as the value of an attribute in quotes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}
