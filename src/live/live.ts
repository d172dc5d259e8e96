/** `@Live`, and the option `live` of `bootstrap`. Source: decisions, Live queries. */

import type {
  ContentObject,
  OperationObject,
  ResponseObject,
  SchemaObject,
} from 'openapi3-ts/oas31'
import { createDecorator, type DecoratorProblem } from '../extensions/custom-decorator.js'
import {
  declareOptions,
  type Option,
  type OptionsOf,
  type ValuesOf,
} from '../options/declare-options.js'
import { option } from '../options/option.js'

const keys: SchemaObject = { type: 'array', items: { type: ['string', 'integer'] } }

const description =
  'A live query. The event `live` has the complete result first, and then a diff whenever the result changes: `set` has new and changed rows, ' +
  '`gone` the keys of removed rows, and `order` all keys if new rows are not at the end. A result that is not a list of rows with `id` is sent completely. ' +
  'Send the id of the last event as `Last-Event-ID` to continue. The event `closed` has `status` 401 or 403 if the caller may not see the result any more.'

/** Returns the same operation with `text/event-stream` in addition to the JSON response. */
export function documentLive(operation: OperationObject): OperationObject {
  const responses: Record<string, ResponseObject> = {}
  Object.assign(responses, operation.responses)
  const [status = '200'] = Object.keys(responses).filter((one) => one.startsWith('2'))
  const response = responses[status] ?? { description: 'OK' }
  const data = schemaOf(response.content)
  const message: SchemaObject = {
    type: 'object',
    description,
    properties: {
      version: { type: 'integer', minimum: 1 },
      data,
      lost: { type: 'boolean', description: 'Versions were missed, or are of another process.' },
      set: { type: 'array', items: 'items' in data ? data.items : {} },
      gone: keys,
      order: keys,
    },
    required: ['version'],
  }
  const content = { ...response.content, 'text/event-stream': { schema: message } }
  return { ...operation, responses: { ...responses, [status]: { ...response, content } } }
}

function schemaOf(content: ContentObject | undefined): SchemaObject {
  const media = content?.['application/json'] ?? content?.['*/*']
  return (media?.schema ?? {}) as SchemaObject
}

/**
 * Responds to `Accept: text/event-stream` with the handler's result, then with the difference whenever a table that it
 * read changes. Other clients get a single response.
 *
 * ```ts
 * @Get('/board') @Live board() { return this.tickets.list({ where: { status: 'open' } }) }
 * ```
 */
export const Live = createDecorator('Live', () => ({
  check: ({ method }): DecoratorProblem[] =>
    method === 'GET' ? [] : [{ message: 'works only on GET', remedy: 'Move it to a GET route.' }],
  document: documentLive,
}))

const count = (defaultValue: number): Option<number, number> =>
  option
    .of<number>(
      (value) => value === Infinity || (Number.isSafeInteger(value) && Number(value) >= 1),
      'Give a whole number from 1, or Infinity for no limit.',
    )
    .shown()
    .default(defaultValue)

/** The option `live` of `bootstrap`. */
export const liveOptions = declareOptions({
  /** Maximum number of different live queries per process. Further ones get 429. Default: 1,000. */
  answers: count(1000),
  /**
   * Maximum number of different live queries per caller; anonymous callers count by address. Further ones get 429.
   * Default: 100.
   */
  byCaller: count(100),
  /**
   * Minimum time between two runs of one live query, such as `'100ms'`, or in milliseconds. After a slow run, the
   * minimum is twice its duration. Default: 100.
   */
  pace: option
    .parsed<number | string, number>(
      readPace,
      "Give milliseconds from 10 to 60,000, or a text such as '100ms' or '1s'.",
    )
    .shown()
    .default(100),
})

/** Limits on the number of live queries, and on how often each runs. */
export interface LiveQueriesOptions extends OptionsOf<typeof liveOptions> {}

/** The options with defaults applied; `pace` in milliseconds. */
export interface ResolvedLiveOptions extends ValuesOf<typeof liveOptions> {}

export const defaultLive: ResolvedLiveOptions = liveOptions.read({})

/** @returns milliseconds */
function readPace(value: unknown): number | undefined {
  const match = typeof value === 'string' ? /^(\d+)\s*(ms|s)$/.exec(value.trim()) : null
  const milliseconds = match === null ? value : Number(match[1]) * (match[2] === 's' ? 1000 : 1)
  if (typeof milliseconds !== 'number' || !Number.isSafeInteger(milliseconds)) return undefined
  return milliseconds >= 10 && milliseconds <= 60_000 ? milliseconds : undefined
}
