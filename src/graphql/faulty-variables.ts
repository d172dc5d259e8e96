/**
 * How variables that do not fit are told: as graphql-js words it, which writes the whole value into each message. Of large
 * values it is asked for one fault alone, and the middle of a long message is left out: else a megabyte of variables is
 * written out fifty times.
 */

/** Faults that are told of variables. */
const mostFaults = 50
/** Values, and characters of their names and texts, that are written into each message. */
const mostValues = 1000
const mostCharacters = 20_000
/** Of a message. */
const longestMessage = 2000
const longestEnd = 500

/** @returns options of graphql-js's reading */
export function faultsToTell(variables: unknown): { readonly maxErrors: number } {
  return { maxErrors: isLarge(variables) ? 1 : mostFaults }
}

export function clipMessage(message: string): string {
  if (message.length <= longestMessage) return message
  const start = message.slice(0, longestMessage - longestEnd)
  // Not in the middle of a character.
  const parts = [start.replace(/[\uD800-\uDBFF]$/, ''), message.slice(-longestEnd)]
  return parts.join(' … ').replace(/(?<= … )[\uDC00-\uDFFF]/, '')
}

function isLarge(given: unknown): boolean {
  const waiting: unknown[] = [given]
  let characters = 0
  // The list grows while it is gone through.
  for (const value of waiting) {
    if (typeof value === 'string') characters += value.length
    else if (Array.isArray(value)) for (const item of value) waiting.push(item)
    else if (typeof value === 'object' && value !== null) {
      for (const [name, item] of Object.entries(value)) {
        characters += name.length
        waiting.push(item)
      }
    }
    if (waiting.length > mostValues || characters > mostCharacters) return true
  }
  return false
}
