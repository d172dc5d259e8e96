/**
 * The text of a key of several columns: the JSON list of its parts. A statement usually needs the parts of the key whose text was
 * just written, so these are remembered.
 */

let lastText = ''
let lastParts: readonly unknown[] = []

/** @param parts JSON values, each in the one form that equal parts have */
export function writeKeyParts(parts: readonly unknown[]): string {
  if (areLast(parts)) return lastText
  lastParts = parts
  lastText = JSON.stringify(parts)
  return lastText
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
