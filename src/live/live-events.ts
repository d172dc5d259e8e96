import { toWrittenEvent, type WrittenEvent } from '../http/events.js'
import type { LiveListener, LiveMessage } from './live-listener.js'

/** Writes messages as server-sent events. Each message is formatted once for all listeners. */
export interface EventFormat {
  /** The events of a message, in order. */
  readonly toItems: (message: LiveMessage) => readonly WrittenEvent[]
  /** Sent after the last message, unless the listener was closed with an error status. */
  readonly last: readonly WrittenEvent[]
}

const closedEvent = (status: number): WrittenEvent =>
  toWrittenEvent({ event: 'closed', data: JSON.stringify({ status }) })

const complete = toWrittenEvent({ event: 'complete', data: '' })

/** Event format of `crud` and handlers: `live` and `closed`. */
export const rowEvents: EventFormat = Object.freeze({
  toItems: cachedPerMessage((message) =>
    message.kind === 'data'
      ? [toWrittenEvent({ event: 'live', id: message.id, data: message.text })]
      : [closedEvent(message.status)],
  ),
  last: [],
})

/**
 * Event format of GraphQL over server-sent events: `next` and `complete`. `closed` follows `complete`, because clients
 * of that protocol stop reading there.
 */
export const resultEvents: EventFormat = Object.freeze({
  toItems: cachedPerMessage((message) =>
    message.kind === 'data'
      ? [toWrittenEvent({ event: 'next', id: message.id, data: message.text })]
      : [
          toWrittenEvent({ event: 'next', data: message.text }),
          complete,
          closedEvent(message.status),
        ],
  ),
  last: [complete],
})

function cachedPerMessage(write: EventFormat['toItems']): EventFormat['toItems'] {
  const written = new WeakMap<LiveMessage, readonly WrittenEvent[]>()
  return (message) => {
    let items = written.get(message)
    if (items === undefined) written.set(message, (items = write(message)))
    return items
  }
}

/** The body of an event stream. It is not a generator, because a waiting generator cannot be cancelled. */
export function liveEvents(
  listener: LiveListener,
  { toItems, last }: EventFormat,
): AsyncIterableIterator<WrittenEvent> {
  let rest: WrittenEvent[] = []
  let isClosed = false
  let isOver = false
  const iterator: AsyncIterableIterator<WrittenEvent> = {
    next: async () => {
      if (rest.length === 0 && !isOver) {
        const result = await listener.next()
        isOver = result.done === true
        if (result.done !== true) {
          isClosed = result.value.kind === 'closed'
          rest = [...toItems(result.value)]
        } else if (!isClosed) rest = [...last]
      }
      const value = rest.shift()
      return value === undefined ? { value: undefined, done: true } : { value, done: false }
    },
    return: async () => {
      rest = []
      isOver = isClosed = true
      await listener.return()
      return { value: undefined, done: true }
    },
    [Symbol.asyncIterator]: () => iterator,
  }
  return iterator
}
