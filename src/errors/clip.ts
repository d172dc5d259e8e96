/** Most characters of what a client sent that a message repeats. */
export const mostRepeated = 200

/** A client's text for a message: shortened to 200 characters, and no character is cut in two. */
export function clip(text: string): string {
  if (text.length <= mostRepeated) return text
  return `${text.slice(0, mostRepeated).replace(/[\uD800-\uDBFF]$/, '')}…`
}
