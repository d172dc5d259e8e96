/**
 * The text of a key of several columns: the JSON list of its parts. A statement usually needs the parts of the key whose text was
 * just written, so these are remembered.
 */

let lastText = ''
let lastParts: readonly unknown[] = []

/** @param parts JSON values, each in the one form that equal parts have */
export function writeKeyParts(parts: readonly unknown[]): string {
  if (areLast(parts)) return lastText
  let text = '['
  for (let index = 0; index < parts.length; index++)
    text += index === 0 ? textOf(parts[index]) : `,${textOf(parts[index])}`
  lastParts = parts
  lastText = `${text}]`
  return lastText
}

/** As `JSON.stringify`. Most parts are numbers, whose text is the same. */
function textOf(part: unknown): string {
  return Number.isFinite(part) ? String(part) : JSON.stringify(part)
}

/** @param text as `writeKeyParts` returns it. @returns the parts, which must not be changed */
export function readKeyParts(text: string): readonly unknown[] {
  return text === lastText ? lastParts : (JSON.parse(text) as readonly unknown[])
}

function areLast(parts: readonly unknown[]): boolean {
  if (parts.length !== lastParts.length || parts.length === 0) return false
  for (let index = 0; index < parts.length; index++)
    if (parts[index] !== lastParts[index]) return false
  return true
}
