/**
 * How many faults of variables are told: graphql-js writes the whole value into the message of each. Of large values it is asked
 * for one fault alone, else a megabyte of variables is written out fifty times.
 */

/** Faults that are told of variables. */
const mostFaults = 50
/** Values, and characters of their names and texts, that are written into each message. */
const mostValues = 1000
const mostCharacters = 20_000

/** @returns options of graphql-js's reading */
export function faultsToTell(variables: unknown): { readonly maxErrors: number } {
  return { maxErrors: isLarge(variables) ? 1 : mostFaults }
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
