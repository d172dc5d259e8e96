import { isAnswer } from './route-response.js'
import { toChunkReader, type ChunkReader } from './chunk-reader.js'
import { EventStream } from './events.js'
import { Reply } from './reply.js'

/** Cancels the stream in a result, if there is one. Never throws. */
export function discard(result: unknown): void {
  const body = bodyOf(result)
  if (typeof body !== 'object' || body === null) return
  try {
    toReader(body)?.cancel()
  } catch {
    // A locked web stream is released by its reader.
  }
}

/** The body of a reply or response, otherwise the value itself. */
export function bodyOf(value: unknown): unknown {
  return value instanceof Reply || isAnswer(value) ? (value as { body: unknown }).body : value
}

/** @returns undefined if the body is not a stream */
export function toReader(body: object): ChunkReader | undefined {
  if (body instanceof EventStream) return body.reader
  return toChunkReader(body instanceof Blob ? body.stream() : body)
}
