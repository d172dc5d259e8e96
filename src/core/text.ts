/** Maximum characters of client input that a message repeats. */
export const maxRepeatedLength = 200

/** Shortens a client's text for a message to 200 characters, without splitting a character. */
export function clip(text: string): string {
  if (text.length <= maxRepeatedLength) return text
  return `${text.slice(0, maxRepeatedLength).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** NUL and unpaired surrogates. */
const unstorable = /[\0\ud800-\udfff]/u

/** False for text with NUL or an unpaired surrogate. Databases reject or change it. */
export function isStorable(text: string): boolean {
  return !unstorable.test(text)
}

/** Escapes text for a regular expression. */
export function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}

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
