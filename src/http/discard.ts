/** Releases a result that can no longer be sent. */
import { isAnswer } from './route-response.js'
import { toChunkReader, type ChunkReader } from './chunk-reader.js'
import { EventStream } from './events.js'
import { Reply } from './reply.js'

/** Cancels the stream in what was returned, if there is one. Never throws. */
export function discard(result: unknown): void {
  const body = bodyOf(result)
  if (typeof body !== 'object' || body === null) return
  try {
    toReader(body)?.cancel()
  } catch {
    // A locked web stream: whoever reads it lets it go.
  }
}

/** What is in a reply or an answer, else the value itself. */
export function bodyOf(value: unknown): unknown {
  return value instanceof Reply || isAnswer(value) ? (value as { body: unknown }).body : value
}

/** @returns undefined for what is no stream */
export function toReader(body: object): ChunkReader | undefined {
  if (body instanceof EventStream) return body.reader
  return toChunkReader(body instanceof Blob ? body.stream() : body)
}
