/** The outcome of an operation, whether it ran by plan or by graphql-js. */

import type { GraphQLError } from 'graphql'
import { HttpError } from '../errors/http-error.js'
import { thrownIn, type EntryOptions, toErrorEntries, type ErrorEntry } from './errors.js'
import { graphqlLibrary } from './library.js'
import type { Operation } from './operation.js'
import type { EventItem } from '../http/events.js'
import { mapIterator } from './open-streams.js'
import type { Admission } from '../records/rights/caller.js'

/**
 * Whether an operation has no result because the database does not answer: then the whole answer is 503, as everywhere
 * else. Source: decisions, Records: transactions.
 */

/** The code of what repositories throw where the database does not answer. */
const unavailable = 'DATABASE_UNAVAILABLE'

/** @returns what was thrown; `undefined` where something was read or, as far as is known, written */
export function findOutage(
  { data, text, errors }: Outcome,
  operation: Operation,
): HttpError | undefined {
  const error = errors?.find((one) => toOutage(one) !== undefined)
  if (error === undefined) return undefined
  const result = text === undefined ? data : (JSON.parse(text) as object | null)
  if (result === undefined || result === null) {
    return isAfterAnotherField(error, operation) ? undefined : toOutage(error)
  }
  return Object.values(result).every((value) => value === null) ? toOutage(error) : undefined
}

/** The fields of a mutation that stood before this one were done, though `data` is null: the same again would do them twice. */
function isAfterAnotherField({ path }: GraphQLError, operation: Operation): boolean {
  if (operation.node.operation !== graphqlLibrary().OperationTypeNode.MUTATION) return false
  const [first] = [...operation.everyRoot()].map(([key]) => key)
  return path !== undefined && path[0] !== first
}

function toOutage(error: GraphQLError): HttpError | undefined {
  const thrown = thrownIn(error)
  return thrown instanceof HttpError && thrown.code === unavailable ? thrown : undefined
}

/** Results as events. Source: GraphQL over Server-Sent Events, "Distinct connections mode". */

const complete: EventItem = Object.freeze({ event: 'complete', data: '' })

/** `next` for each result, then `complete`. Without anything that ran an event has `errors` alone. */
export function toEventItems(
  outcomes: AsyncIterableIterator<Outcome> | readonly [Outcome],
  options: EntryOptions,
): AsyncIterable<EventItem> | readonly EventItem[] {
  const toItem = (outcome: Outcome): EventItem => ({
    event: 'next',
    data: toResultText(outcome, options, false),
  })
  if (Symbol.asyncIterator in outcomes) return mapIterator(outcomes, toItem, [complete])
  return [toItem(outcomes[0]), complete]
}

/** Writes results: as values for the program, as text for the endpoint. Source: decisions, GraphQL. */

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

export type Variables = Readonly<Record<string, unknown>>

/** What an operation gave. */
export interface Outcome {
  /** Undefined: nothing ran, and `errors` say why. */
  readonly data: object | null | undefined
  /** The JSON text of `data`, where it was never a value; then `data` is undefined. */
  readonly text: string | undefined
  readonly errors: readonly GraphQLError[] | undefined
  /** Set where the caller may not run it. */
  readonly refused: Exclude<Admission, 'admitted'> | undefined
}

/** An outcome of which nothing ran. */
export function notRun(errors: readonly GraphQLError[]): Outcome {
  return { data: undefined, text: undefined, errors, refused: undefined }
}
