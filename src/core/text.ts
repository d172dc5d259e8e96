/** Most characters of what a client sent that a message repeats. */
export const maxRepeatedLength = 200

/** A client's text for a message: shortened to 200 characters, and no character is cut in two. */
export function clip(text: string): string {
  if (text.length <= maxRepeatedLength) return text
  return `${text.slice(0, maxRepeatedLength).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** Which texts every database keeps as they are. */

/** NUL, and halves of characters. */
const unstorable = /[\0\ud800-\udfff]/u

/** False for a text with the character NUL or half of a character: databases refuse it, or keep something else. */
export function isStorable(text: string): boolean {
  return !unstorable.test(text)
}
