/** Reads a body's bytes into memory and stops at a limit. Source: decisions, Requests. */
import { HttpError } from '../../errors/http-error.js'
import type { Incoming } from '../node-messages.js'

export interface CollectOptions {
  /** Most bytes that are read; more of them are 413. */
  readonly limit: number
  /** The announced length in bytes, not over the limit; `undefined` where there is none. */
  readonly expected: number | undefined
}

/**
 * The length in bytes that the client announced, `undefined` where the body comes in chunks.
 *
 * @throws {HttpError} 413 when it is over the limit; then not a byte needs to be read
 */
export function announcedLength(incoming: Incoming, limit: number): number | undefined {
  const length = incoming.headers['content-length']
  if (length === undefined) return undefined
  const bytes = Number(length)
  if (bytes > limit) throw tooLarge('The body', limit)
  return bytes
}

/** 413, before or while the body is read. */
export function tooLarge(label: string, limit: number): HttpError {
  return new HttpError(413, `${label} is larger than ${limit} bytes.`)
}

/** Never read by a client: the connection is lost. The code distinguishes it from a malformed body. */
export function clientLeft(cause?: unknown): HttpError {
  return new HttpError(400, 'The client went away.', { code: 'CLIENT_GONE', cause })
}

/** Replaces our listeners on a body that is left unread, so that its failure is ignored. */
export function ignoreFailure(): void {
  // A connection that breaks after it was refused is no news.
}

/**
 * Calls `done` once. After an error the stream is paused with its rest unread, for the answerer to drain or to drop.
 *
 * A callback and no promise: the caller has one already, and each costs a turn of the microtask queue.
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
    incoming.on('error', ignoreFailure)
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
    // The announced length is there: waiting for the end would only cost another turn.
    if (total === expected) finish(undefined)
  }
  const onEnd = (): void => {
    finish(undefined)
  }
  const onClose = (): void => {
    // Every request closes in the end; an error and its stack are made only for one that breaks off.
    if (open) finish(clientLeft())
  }
  const onError = (cause: Error): void => {
    finish(clientLeft(cause))
  }
  // Stay on after success: the request is let go of with them, and taking them off costs more.
  incoming.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onError)
}

const empty = Buffer.alloc(0)
