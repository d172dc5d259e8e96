/** How much a call's variables hold: the document's text is bounded by `tokens`, and these are its larger half. */
import type { GraphQLError } from 'graphql'
import type { GraphqlLimits } from './limits.js'
import type { Variables } from './outcome.js'
import { overLimit } from './read-document.js'

/** What a type makes of an object, field by field, takes ten times as long as a number of a list. */
const ofObject = 10

/** @returns what is wrong with the number of values, if anything; no more of them are looked at than are allowed */
export function excessValues(
  given: Variables,
  { values }: GraphqlLimits,
): GraphQLError | undefined {
  let left = values
  const waiting: object[] = [given]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const items: readonly unknown[] = Array.isArray(next) ? next : Object.values(next)
    left -= Array.isArray(next) ? items.length : ofObject + items.length
    if (left < 0) {
      return overLimit(
        'values',
        `The variables hold more than ${values} values, an object counting as ${ofObject} more. Send less.`,
      )
    }
    for (const item of items) if (typeof item === 'object' && item !== null) waiting.push(item)
  }
  return undefined
}
