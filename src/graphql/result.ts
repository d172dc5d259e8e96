/** Writes results: as values for the program, as text for the endpoint. Source: decisions, GraphQL, "Status" and "Error entries". */
import { toErrorEntries, type EntryOptions, type ErrorEntry } from './error-entries.js'
import type { Outcome } from './outcome.js'

/** What `execute` and `handleRequest` give. */
export interface GraphQLResult {
  /** Null where nothing ran, or a field that is never null was. */
  data: Record<string, unknown> | null
  errors?: ErrorEntry[]
}

export function toResult(outcome: Outcome, options: EntryOptions): GraphQLResult {
  const { text, errors } = outcome
  const data = text === undefined ? (outcome.data ?? null) : (JSON.parse(text) as object | null)
  const result: GraphQLResult = { data: data as GraphQLResult['data'] }
  if (errors !== undefined) result.errors = toErrorEntries(errors, options)
  return result
}

/** True where an operation ran; its fields may have failed. */
export function hasRun({ data, text }: Outcome): boolean {
  return data !== undefined || text !== undefined
}

/**
 * Writes a result: `{"data":{"a":1}}`, `{"data":null,"errors":[…]}`.
 *
 * @param alwaysData leaves `data` out, where nothing ran, when false
 */
export function toResultText(outcome: Outcome, options: EntryOptions, alwaysData: boolean): string {
  const { errors } = outcome
  const entries = errors && JSON.stringify(toErrorEntries(errors, options))
  if (!alwaysData && !hasRun(outcome)) return `{"errors":${entries ?? '[]'}}`
  const data = outcome.text ?? JSON.stringify(outcome.data ?? null)
  return entries === undefined ? `{"data":${data}}` : `{"data":${data},"errors":${entries}}`
}
