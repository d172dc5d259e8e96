import type { HttpError } from '../../errors/http-error.js'
import type { Incoming } from '../node-messages.js'
import { clientLeft, tooLarge } from '../refusals.js'

interface CollectOptions {
  /** The maximum size in bytes. Larger bodies are 413. */
  readonly limit: number
  /** The announced length in bytes, within the limit; `undefined` if there is none. */
  readonly expected: number | undefined
}

/**
 * The length in bytes that the client announced; `undefined` if the body comes in chunks.
 *
 * @throws {HttpError} 413 if it is over the limit. No byte is read then
 */
export function announcedLength(incoming: Incoming, limit: number): number | undefined {
  const length = incoming.headers['content-length']
  if (length === undefined) return undefined
  const bytes = Number(length)
  if (bytes > limit) throw tooLarge('The body', limit)
  return bytes
}

/**
 * Reads a body's bytes into memory, and calls `done` once. After an error the stream is paused with its rest unread,
 * for the responder to drain or to drop.
 *
 * Uses a callback instead of a promise, because the caller has one already and each costs a turn of the microtask
 * queue.
 */
export function collect(
  incoming: Incoming,
  { limit, expected }: CollectOptions,
  done: (error: HttpError | undefined, bytes: Buffer) => void,
): void {
  if (incoming.destroyed) {
    done(clientLeft(), empty)
    return
  }
  let first: Buffer | undefined
  let rest: Buffer[] | undefined
  let total = 0
  let open = true

  const finish = (error: HttpError | undefined): void => {
    if (!open) return
    open = false
    if (error === undefined) {
      done(undefined, rest === undefined ? (first ?? empty) : Buffer.concat(rest, total))
      return
    }
    incoming.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onError)
    // A connection that breaks after its request was rejected is not an error.
    incoming.on('error', () => undefined)
    incoming.pause()
    done(error, empty)
  }
  const onData = (chunk: Buffer): void => {
    total += chunk.length
    if (total > limit) {
      finish(tooLarge('The body', limit))
      return
    }
    if (first === undefined) first = chunk
    else if (rest === undefined) rest = [first, chunk]
    else rest.push(chunk)
    // All announced bytes have arrived. Waiting for the end would only cost another turn of the event loop.
    if (total === expected) finish(undefined)
  }
  const onEnd = (): void => {
    finish(undefined)
  }
  const onClose = (): void => {
    // Every request is closed at some time. An error, which costs a stack trace, is created only for a broken one.
    if (open) finish(clientLeft())
  }
  const onError = (cause: Error): void => {
    finish(clientLeft(cause))
  }
  // The listeners stay after success: they are released with the request, and removing them costs more.
  incoming.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onError)
}

const empty = Buffer.alloc(0)
