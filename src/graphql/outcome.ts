/**
 * The outcome of an operation, its conversion to results, JSON text and server-sent events, and the diagnostics event about
 * it. Source: decisions, GraphQL.
 */
import type { GraphQLError } from 'graphql'
import { type WatchedWork, WorkChannel } from '../core/diagnostics.js'
import { HttpError } from '../errors/http-error.js'
import type { EventItem } from '../http/events.js'
import type { AccessResult } from '../records/rights/caller.js'
import { type EntryOptions, type ErrorEntry, thrownIn, toErrorEntries } from './errors.js'
import { mapIterator } from './open-streams.js'
import type { Operation } from './operations.js'

/** The code of errors of repositories if the database does not respond. */
const unavailable = 'DATABASE_UNAVAILABLE'

/**
 * Finds the error of an operation that has no result because the database did not respond, so that the response is a
 * 503.
 *
 * @returns `undefined` if the operation has read data or may have written some
 */
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

/** Whether fields of a mutation before the failed one may have run, so that the client must not repeat the request. */
function isAfterAnotherField({ path }: GraphQLError, operation: Operation): boolean {
  if (operation.kind !== 'mutation') return false
  const [first] = [...operation.everyRoot()].map(([key]) => key)
  return path !== undefined && path[0] !== first
}

function toOutage(error: GraphQLError): HttpError | undefined {
  const thrown = thrownIn(error)
  return thrown instanceof HttpError && thrown.code === unavailable ? thrown : undefined
}

const complete: EventItem = Object.freeze({ event: 'complete', data: '' })

/**
 * Converts outcomes to events: `next` for each, then `complete`. Source: GraphQL over Server-Sent Events, "Distinct
 * connections mode".
 */
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

/** The result of `execute` and `handleRequest`. */
export interface GraphQLResult {
  /** Null if nothing ran, or if a field that cannot be null has failed. */
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

/** Whether the operation ran. Its fields may have failed. */
export function hasRun({ data, text }: Outcome): boolean {
  return data !== undefined || text !== undefined
}

/**
 * Writes a result: `{"data":{"a":1}}`, `{"data":null,"errors":[…]}`.
 *
 * @param alwaysData false to omit `data` if nothing ran
 */
export function toResultText(outcome: Outcome, options: EntryOptions, alwaysData: boolean): string {
  const { errors } = outcome
  const entries = errors && JSON.stringify(toErrorEntries(errors, options))
  if (!alwaysData && !hasRun(outcome)) return `{"errors":${entries ?? '[]'}}`
  const data = outcome.text ?? JSON.stringify(outcome.data ?? null)
  return entries === undefined ? `{"data":${data}}` : `{"data":${data},"errors":${entries}}`
}

/** The result of an operation before it is converted. */
export interface Outcome {
  /** Undefined if nothing ran, with the reason in `errors`, or if `text` is set. */
  readonly data: object | null | undefined
  /** `data` as JSON text, if plans produced it. */
  readonly text: string | undefined
  readonly errors: readonly GraphQLError[] | undefined
  /** Set if the caller may not run the operation. */
  readonly refused: Exclude<AccessResult, 'admitted'> | undefined
}

/** The outcome of an operation that did not run. */
export function notRun(errors: readonly GraphQLError[]): Outcome {
  return { data: undefined, text: undefined, errors, refused: undefined }
}

/** An operation that ran, or a subscription that was opened. */
export interface GraphqlEvent extends WatchedWork {
  /** The `GraphQL` instance. */
  readonly graphql: object | undefined
  readonly type: 'query' | 'mutation' | 'subscription'
  /** The name in the document, if any. */
  readonly name: string | undefined
  /** Its cost without the values of variables. */
  readonly cost: number
  /** Whether the result has errors. */
  failed: boolean
}

/** The diagnostics channel `filigree:graphql`. See docs/monitoring.md. */
export const graphqlEvents = new WorkChannel<GraphqlEvent>('filigree:graphql')
