/** How graphql-js words a fault, which repeats what the client sent: names, values, however long. */

const longestMessage = 2000
const longestEnd = 500

/** Leaves out the middle of a long message. */
export function clipMessage(message: string): string {
  if (message.length <= longestMessage) return message
  const start = message.slice(0, longestMessage - longestEnd)
  // Not in the middle of a character.
  const parts = [start.replace(/[\uD800-\uDBFF]$/, ''), message.slice(-longestEnd)]
  return parts.join(' … ').replace(/(?<= … )[\uDC00-\uDFFF]/, '')
}
