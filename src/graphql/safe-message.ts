/** Messages of graphql-js, which repeat what the client sent and suggest names of the schema. */
import { mostRepeated } from '../core/text.js'

/** A message with at most `mostRepeated` quoted characters may have as many others. */
const longestMessage = 2 * mostRepeated
const longestEnd = 50

/** Shortens what a message repeats: names in quotation marks, and values, which may have none. */
export function clipMessage(message: string): string {
  if (message.length <= mostRepeated) return message
  let left = mostRepeated
  const clipped = message.replace(/"(?:[^"\\]|\\.)*"/g, (quoted) => {
    const length = quoted.length - 2
    const kept = Math.min(left, length)
    left -= kept
    return kept === length ? quoted : `${wholeCharacters(quoted.slice(0, kept + 1))}…"`
  })
  if (clipped.length <= longestMessage) return clipped
  const start = wholeCharacters(clipped.slice(0, mostRepeated - longestEnd))
  return `${start} … ${clipped.slice(-longestEnd).replace(/^[\uDC00-\uDFFF]/, '')}`
}

/** The message without its suggestion, if the suggestion names one of the fields. */
export function withoutSuggestion(message: string, fields: ReadonlySet<string>): string {
  if (fields.size === 0) return message
  const suggestion = / Did you mean [^?]*\?$/.exec(message)?.[0]
  if (suggestion === undefined) return message
  const names = suggestion.match(/\w+/g) ?? []
  return names.some((name) => fields.has(name)) ? message.slice(0, -suggestion.length) : message
}

function wholeCharacters(text: string): string {
  return text.replace(/[\uD800-\uDBFF]$/, '')
}
