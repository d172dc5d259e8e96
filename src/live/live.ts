/** `@Live`: sends a handler's result again whenever a table that it read changes. Source: decisions, Live queries. */

import type {
  ContentObject,
  OperationObject,
  ResponseObject,
  SchemaObject,
} from 'openapi3-ts/oas31'
import { createDecorator, type DecoratorProblem } from '../extensions/custom-decorator.js'

/** Documents a live route in OpenAPI: its event stream, with the schema of the data. */

const keys: SchemaObject = { type: 'array', items: { type: ['string', 'integer'] } }

const description =
  'The answer stays true: an event `live` with the answer, then one with what differs, whenever it does: `set` has whole rows, ' +
  '`gone` their keys, `order` all keys where new rows do not stand at the end; what is no list of rows with `id` comes whole. ' +
  'The event id is for `Last-Event-ID`. An event `closed` has `status` 401 or 403 where the caller may see it no more.'

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
    method === 'GET'
      ? []
      : [{ message: 'keeps answers of GET alone', remedy: 'Move it to a GET route.' }],
  document: documentLive,
}))
