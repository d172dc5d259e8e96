/** Reads every kind of stream in one way: chunk by chunk, until it ends or is released. */
import { Readable } from 'node:stream'

export interface ChunkReader {
  /** Returns the next chunk. Rejects or throws if the reader fails. */
  next(): Promise<IteratorResult<unknown>> | IteratorResult<unknown>
  /** Releases the reader: streams are destroyed, `return()` of iterators is called. Never throws. */
  cancel(): void
}

/**
 * @param body a Node stream, a web stream, an async iterable, or an iterator (such as a called generator). Maps, sets
 * and other iterables are data, not streams
 *
 * @returns undefined for everything else; nothing is read yet
 */
export function toChunkReader(body: Readable | ReadableStream): ChunkReader
export function toChunkReader(body: object): ChunkReader | undefined
export function toChunkReader(body: object): ChunkReader | undefined {
  if (body instanceof Readable) return fromReadable(body)
  if (isWebStream(body)) return fromWebStream(body)
  if (isAsyncIterable(body)) return fromIterator(body[Symbol.asyncIterator]())
  if (isIterator(body)) return fromIterator(body)
  return undefined
}

/** Whether a body is a stream; nothing of it is read. */
export function isStream(body: object): boolean {
  return body instanceof Readable || isWebStream(body) || isAsyncIterable(body) || isIterator(body)
}

/** Like `toChunkReader`, for items that are not chunks yet, and so may come from a list or a set too. */
export function toItemReader(items: object): ChunkReader | undefined {
  const reader = toChunkReader(items)
  if (reader !== undefined || !isIterable(items)) return reader
  return fromIterator(items[Symbol.iterator]())
}

type AnyIterator = AsyncIterator<unknown> | Iterator<unknown>

function fromReadable(stream: Readable): ChunkReader {
  // An error after the last read must not end the process.
  stream.on('error', () => undefined)
  const iterator = stream[Symbol.asyncIterator]()
  return {
    next: () => iterator.next(),
    cancel: () => {
      stream.destroy()
    },
  }
}

/** Uses its reader, because the iterator of a web stream cannot be cancelled while it waits for a chunk. */
function fromWebStream(stream: ReadableStream<unknown>): ChunkReader {
  const reader = stream.getReader()
  return {
    next: () => reader.read() as Promise<IteratorResult<unknown>>,
    cancel: () => {
      reader.cancel().catch(() => undefined)
    },
  }
}

/** `return()` cannot interrupt an async generator that waits: it runs its `finally` when the wait is over. */
function fromIterator(iterator: AnyIterator): ChunkReader {
  return {
    next: () => iterator.next(),
    cancel: () => {
      try {
        Promise.resolve(iterator.return?.()).catch(() => undefined)
      } catch {
        // The reader has stopped, so an error cannot be reported to it.
      }
    },
  }
}

function isWebStream(body: object): body is ReadableStream<unknown> {
  return typeof (body as { getReader?: unknown }).getReader === 'function'
}

function isAsyncIterable(body: object): body is AsyncIterable<unknown> {
  return typeof (body as { [Symbol.asyncIterator]?: unknown })[Symbol.asyncIterator] === 'function'
}

function isIterator(body: object): body is IterableIterator<unknown> {
  return typeof (body as { next?: unknown }).next === 'function' && isIterable(body)
}

function isIterable(body: object): body is Iterable<unknown> {
  return typeof (body as { [Symbol.iterator]?: unknown })[Symbol.iterator] === 'function'
}

/** The bytes behind a buffer or any view of one, not copied; undefined for everything else. */
export function toBytes(body: unknown): Uint8Array | undefined {
  if (body instanceof Uint8Array) return body
  if (ArrayBuffer.isView(body)) {
    return new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
  }
  return body instanceof ArrayBuffer ? new Uint8Array(body) : undefined
}
