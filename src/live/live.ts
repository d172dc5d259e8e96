/** `@Live`, and the option `live` of `bootstrap`. Source: decisions, Live queries. */
import type {
  ContentObject,
  OperationObject,
  ResponseObject,
  SchemaObject,
} from 'openapi3-ts/oas31'
import { createDecorator, type DecoratorProblem } from '../extensions/custom-decorator.js'

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
    method === 'GET'
      ? []
      : [{ message: 'works only on GET', remedy: 'Move it to a GET route.' }],
  document: documentLive,
}))
