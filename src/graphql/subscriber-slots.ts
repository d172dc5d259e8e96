/**
 * Limits how many subscribers get an event in one turn of the event loop, because an event for a thousand subscribers
 * would block it. Generated subscriptions use `subscriberSlots` directly, hand-written subscriptions use `sliceEvents`.
 */
import { after } from '../core/maybe-promise.js'
import { EventLoopSlots } from '../core/event-loop-slots.js'
import type { FieldDeclaration } from './declarations.js'

/** Shared by all subscriptions of the process. */
export const subscriberSlots = new EventLoopSlots(8)

type Subscribe = NonNullable<FieldDeclaration['subscribe']>

/** Wraps `subscribe` so that each event waits for a slot. */
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

/** Anything else is rejected by graphql-js. */
function isIterable(source: unknown): source is AsyncIterable<unknown> {
  return typeof source === 'object' && source !== null && Symbol.asyncIterator in source
}
