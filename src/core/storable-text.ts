/** Which texts every database keeps as they are. */

/** NUL, and halves of characters. */
const unstorable = /[\0\ud800-\udfff]/u

/** False for a text with the character NUL or half of a character: databases refuse it, or keep something else. */
export function isStorable(text: string): boolean {
  return !unstorable.test(text)
}
