/** `@Live`: a handler's answer again, whenever a table changes that it read. Source: decisions, "Third storey: live answers". */
import { createDecorator, type DecoratorProblem } from '../extensions/custom-decorator.js'
import { documentLive } from './document-live.js'

/**
 * Answers `Accept: text/event-stream` with the handler's answer, and with what differs of it, whenever a table changes that it
 * read. Other clients get one answer, as ever.
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
