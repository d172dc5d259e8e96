/**
 * Subscribers get events in slices: sending one event to a thousand of them at once would block the event loop.
 * Those of records take their turns themselves; here are those of subscriptions by hand.
 */
import { after } from '../core/maybe-promise.js'
import { EventLoopSlots } from '../core/event-loop-slots.js'
import type { FieldDeclaration } from './declarations.js'

/** Of all subscriptions of the process. */
export const subscriberSlots = new EventLoopSlots(8)

type Subscribe = NonNullable<FieldDeclaration['subscribe']>

/** The same, with the loop free for others between its events. */
export function sliceEvents(subscribe: Subscribe): Subscribe {
  return (root, args, context, info) =>
    after(subscribe(root, args, context, info), (source) =>
      isIterable(source) ? new SlicedEvents(source) : source,
    )
}

class SlicedEvents implements AsyncIterableIterator<unknown> {
  readonly #events: AsyncIterator<unknown>

  constructor(source: AsyncIterable<unknown>) {
    this.#events = source[Symbol.asyncIterator]()
  }

  async next(): Promise<IteratorResult<unknown>> {
    const event = await this.#events.next()
    if (event.done !== true) await subscriberSlots.take()
    return event
  }

  return(): Promise<IteratorResult<unknown>> {
    return this.#events.return?.() ?? Promise.resolve({ value: undefined, done: true })
  }

  throw(error: unknown): Promise<IteratorResult<unknown>> {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown goes on as it is
    return this.#events.throw?.(error) ?? Promise.reject(error)
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

/** What is none, graphql-js refuses in its own words. */
function isIterable(source: unknown): source is AsyncIterable<unknown> {
  return typeof source === 'object' && source !== null && Symbol.asyncIterator in source
}
