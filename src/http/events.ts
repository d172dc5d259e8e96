/** Server-sent events. Source: WHATWG HTML, "Server-sent events", §9.2.5 to §9.2.6. */
import { acceptOtherCopies } from '../errors/shared-class.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import { writeFor } from './response-body.js'
import { toItemReader, type ChunkReader } from './chunk-reader.js'
import type { EventSource } from './event-source.js'
import { Reply } from './reply.js'
import type { ServerRequest } from './server-request.js'
import type { StreamHeartbeat } from './stream-body.js'

const eventFields = declareOptions({
  /** Text is sent unchanged, any other value as JSON. An event without data only sets `id` and `retry`. */
  data: option.any<unknown>(),
  /** The name clients listen for. Default `message`. */
  event: option.any<string>(),
  /** Comes back as `Last-Event-ID` when the client connects again. */
  id: option.any<string | number>(),
  /** Milliseconds that the client waits before it connects again. */
  retry: option.any<number>(),
})

/** One event: only its text, or its fields. */
export type EventItem = string | Readonly<OptionsOf<typeof eventFields>>

/** An event as it is sent, for sending the same event to many clients. */
export class WrittenEvent {
  readonly bytes: Buffer

  constructor(text: string) {
    this.bytes = Buffer.from(text)
  }
}

export function toWrittenEvent(item: EventItem): WrittenEvent {
  return new WrittenEvent(toEventText(item))
}

/** A comment, which clients ignore. */
export const eventHeartbeat: StreamHeartbeat = Object.freeze({ text: ':\n\n', every: 15_000 })

/** The body of an `events` reply. */
export class EventStream {
  readonly reader: ChunkReader
  /** Whether it never ends by itself, so that the end of the application ends it. */
  readonly isEndless: boolean
  /** The request, after the response has begun. */
  request: ServerRequest | undefined

  constructor(items: object) {
    const reader = toItemReader(items)
    if (reader === undefined) throw new TypeError(noItems)
    this.isEndless = !Array.isArray(items)
    this.reader = {
      next: async () => {
        const result = await reader.next()
        if (result.done === true) return result
        return { value: writeFor(this.request, toEventText, result.value) }
      },
      cancel: () => {
        reader.cancel()
      },
    }
  }
}

acceptOtherCopies(EventStream, 'EventStream')

const noItems = 'events: the items are not iterable. Pass a generator, a list or a stream.'

/**
 * Sends events when they are available: `text/event-stream`, with a comment every 15 seconds to keep the connection
 * open. When the client disconnects, `return()` of the iterator is called.
 *
 * @param items an async iterable, an iterable or a stream of events
 * @throws {TypeError} if the items are not iterable; an invalid event ends the stream and is logged
 */
export function events(
  items: AsyncIterable<EventItem> | Iterable<EventItem> | ReadableStream<EventItem>,
): Reply<EventStream> {
  if (!isObject(items)) throw new TypeError(noItems)
  return new Reply(new EventStream(items))
    .type('text/event-stream')
    .header('Cache-Control', 'no-cache')
}

/** The body of a `sourceEvents` reply. The source ends it when the caller's token is revoked. */
export class SourceStream {
  readonly source: EventSource

  constructor(source: EventSource) {
    this.source = source
  }
}

/** As `events`, for a source that sends its events itself. */
export function sourceEvents(source: EventSource): Reply<SourceStream> {
  return new Reply(new SourceStream(source))
    .type('text/event-stream')
    .header('Cache-Control', 'no-cache')
}

/**
 * Writes one event: `event: price\nid: 7\ndata: {"eur":3}\n\n`. Each line of the data becomes a `data:` line.
 *
 * @throws {TypeError} if it is not an event, has unknown names, or a field would break the format: a line break in
 * `event` or `id`, NUL in `id`, a `retry` that is not an integer
 */
export function toEventText(item: unknown): string {
  if (typeof item === 'string') return `${toDataLines(item)}\n`
  if (!isFields(item)) {
    throw new TypeError(
      'events: an item is not an event. Give text, or { data, event, id, retry }.',
    )
  }
  eventFields.check('events', item)
  const { data, event, id, retry } = item
  let text = ''
  if (event !== undefined) text += `event: ${toLine('event', event)}\n`
  if (id !== undefined) text += `id: ${toLine('id', String(id))}\n`
  if (retry !== undefined) text += `retry: ${toMilliseconds(retry)}\n`
  if (data !== undefined) text += toDataLines(typeof data === 'string' ? data : toJson(data))
  return `${text}\n`
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isFields(item: unknown): item is Exclude<EventItem, string> {
  if (!isObject(item)) return false
  return 'data' in item || 'event' in item || 'id' in item || 'retry' in item
}

function toDataLines(data: string): string {
  return data
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}\n`)
    .join('')
}

function toLine(field: string, value: string): string {
  if (/[\r\n\0]/.test(value)) {
    throw new TypeError(`events: ${field} holds a line break or NUL. Take it out.`)
  }
  return value
}

function toMilliseconds(retry: number): number {
  if (Number.isSafeInteger(retry) && retry >= 0) return retry
  throw new TypeError(
    `events: retry ${retry} is not a number of milliseconds. Give a whole number from 0.`,
  )
}

function toJson(data: unknown): string {
  // Although the type says text, functions and symbols have none.
  const text = JSON.stringify(data) as string | undefined
  if (text === undefined) throw new TypeError('events: data has no JSON. Give text or plain data.')
  return text
}
